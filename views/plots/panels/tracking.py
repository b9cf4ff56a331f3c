"""Tracking error: difference of the robot to its reference."""

from __future__ import annotations

from granite.views.plots.panels.panel import Line, Panel, lines
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import colours, words


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
