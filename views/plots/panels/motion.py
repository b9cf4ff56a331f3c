"""Motion of the modules: tracking errors, or without a reference joints and floating bases."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.views.plots.panels.panel import Line, Panel, coloured, is_something, lines
from granite.views.plots.run import ModuleMotion, PlottedRun
from granite.views.plots.style import colours, words

#: of more floating modules than this, only the last one's position is drawn: the object that the others hold or carry
_FLOATING = 4
#: more coordinates than this are drawn relative to their start, because distant positions would hide the motion
_PLACES = 4
#: a joint that turns further spins [rad]
_TURNS = 4 * np.pi
_SPINNING = "spinning\njoint [rad]"


def tracking_panels(run: PlottedRun) -> list[Panel]:
    """One for each kind and unit, in thousandths of the unit."""
    if run.bed.controller is None:
        return []
    layout = run.bed.known
    error = 1e3 * (run.q[:, run.referenced] - run.reference)
    joints, followed = run.bed.joints, run.bed.followed_positions
    groups: dict[str, dict[str, Line]] = {}
    for i, (name, unit) in enumerate(layout.positions):
        if unit == "1" or i not in followed:
            continue  # of a quaternion, which is hard to read, or of a module that has no reference
        kind = "joint" if name in joints else "position" if unit == "m" else "heading"
        group = groups.setdefault(f"{kind}\nerror [m{unit}]", {})
        # A joint has the colour of its torque, and so one among all joints.
        colour = colours(len(joints))[joints.index(name)] if name in joints else colours(8)[len(group) % 8]
        group[words(_short(run, name))] = Line(error[:, i], colour)
    return [lines(run, label, group, zero=True) for label, group in groups.items()]


def _short(run: PlottedRun, name: str) -> str:
    """A coordinate of the only module with a reference, without the name of its root body."""
    module = run.bed.followed[0]
    root = run.bed.known.name(module, module.root.name)
    return name.removeprefix(f"{root}_") if len(run.bed.followed) == 1 else name


def motion_panels(run: PlottedRun) -> list[Panel]:
    """One for each kind and unit."""
    if run.bed.controller is not None:
        return []
    floating = [motion for motion in run.motions() if motion.module.base == "floating"]
    turns = {run.name(m.module, "").strip() or words(m.module.root.name): _turn(m) for m in floating}
    groups = _positions(run, floating if len(floating) <= _FLOATING else floating[-1:])
    groups |= {"turn\n[rad]": coloured(turns), **_joints(run)}
    several = len(run.bed.modules) > 1
    return [
        lines(run, label, group, alone=several or label == _SPINNING)
        for label, group in groups.items()
        if is_something(group)
    ]


def _positions(run: PlottedRun, floating: list[ModuleMotion]) -> dict[str, dict[str, Line]]:
    positions: dict[str, Array] = {}
    for motion in floating:
        axes = "xy" if motion.module.dimension == "planar" else "xyz"
        positions |= {run.name(motion.module, axis): motion.q[:, i] for i, axis in enumerate(axes)}
    if len(positions) <= _PLACES:
        return {"position\n[m]": coloured(positions)}
    return {"moved since\nstart [m]": coloured({name: x - _first(x) for name, x in positions.items()})}


def _first(values: Array) -> float:
    """The first finite value."""
    finite = values[np.isfinite(values)]
    return float(finite[0]) if len(finite) else 0.0


def _turn(motion: ModuleMotion) -> Array:
    """The heading of a base; in space the angle by which it is turned against its start, whatever the axis."""
    if motion.module.dimension == "planar":
        return motion.q[:, 2]
    finite = np.flatnonzero(np.isfinite(motion.q[:, 3:7]).all(axis=1))
    if not len(finite):
        return motion.q[:, 3]
    half: Array = np.clip(np.abs(motion.q[:, 3:7] @ motion.q[finite[0], 3:7]), 0.0, 1.0)
    return 2 * np.arccos(half)


def _joints(run: PlottedRun) -> dict[str, dict[str, Line]]:
    """In the colours of their torques."""
    of_joint = dict(zip(run.bed.joints, colours(len(run.bed.joints)), strict=True))
    groups: dict[str, dict[str, Line]] = {}
    series = zip(run.bed.positions, run.q.T, strict=True)
    for coordinate, values in series:
        if coordinate.name in of_joint:
            # A spinning wheel on the same axis would hide the motion of all other joints.
            spins = coordinate.unit == "rad" and np.nanmax(np.abs(values), initial=0.0) > _TURNS
            group = groups.setdefault(_SPINNING if spins else f"joint\n[{coordinate.unit}]", {})
            group[words(coordinate.name)] = Line(values, of_joint[coordinate.name])
    return groups
