"""How the modules moved, where nobody told them how to: joints, and bases that float."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.rt.plots.look import colours, words
from granite.rt.plots.panels.panel import Line, Panel, coloured, is_something, lines
from granite.rt.plots.run import ModuleMotion, Run

#: places of more floating modules than this are left to the view
_FLOATING = 4
#: a joint that turns further spins [rad]
_TURNS = 4 * np.pi


def motion_panels(run: Run) -> list[Panel]:
    """One for each kind and unit."""
    if run.bed.controller is not None:
        return []
    positions: dict[str, Array] = {}
    turns: dict[str, Array] = {}
    floating = [motion for motion in run.motions() if motion.module.base == "floating"]
    for motion in floating:
        module, n = motion.module, 2 if motion.module.dimension == "planar" else 3
        positions |= {run.name(module, axis): motion.q[:, i] for i, axis in enumerate("xyz"[:n])}
        turns[run.name(module, "").strip() or words(module.root.name)] = _turn(motion)
    groups = {"position\n[m]": coloured(positions if len(floating) <= _FLOATING else {})}
    groups |= {"turn\n[rad]": coloured(turns), **_joints(run)}
    return [lines(run, label, group) for label, group in groups.items() if is_something(group)]


def _turn(motion: ModuleMotion) -> Array:
    """The heading of a base; in space the angle by which it is turned against its start, whatever the axis."""
    if motion.module.dimension == "planar":
        return motion.q[:, 2]
    known = np.flatnonzero(np.isfinite(motion.q[:, 3:7]).all(axis=1))
    if not len(known):
        return motion.q[:, 3]
    half: Array = np.clip(np.abs(motion.q[:, 3:7] @ motion.q[known[0], 3:7]), 0.0, 1.0)
    return 2 * np.arccos(half)


def _joints(run: Run) -> dict[str, dict[str, Line]]:
    """In the colours of their torques."""
    of_joint = dict(zip(run.bed.joints, colours(len(run.bed.joints)), strict=True))
    groups: dict[str, dict[str, Line]] = {}
    series = zip(run.bed.positions, run.q.T, strict=True)
    for coordinate, values in series:
        if coordinate.name in of_joint:
            # A wheel that goes round and round would press all other joints flat.
            spins = coordinate.unit == "rad" and np.nanmax(np.abs(values), initial=0.0) > _TURNS
            group = groups.setdefault(f"{'spinning' if spins else 'joint'}\n[{coordinate.unit}]", {})
            group[words(coordinate.name)] = Line(values, of_joint[coordinate.name])
    return groups
