"""How far the robot was from its reference, where it has one."""

from __future__ import annotations

from granite.config import coordinates
from granite.rt.plots.look import colours, words
from granite.rt.plots.panels.panel import Line, Panel, lines
from granite.rt.plots.run import Run


def tracking_panels(run: Run) -> list[Panel]:
    """One for each kind and unit, in thousandths of the unit."""
    if run.bed.controller is None:
        return []
    robot, error = run.bed.robot, 1e3 * (run.q[:, : run.reference.shape[1]] - run.reference)
    joints, root = [joint.name for joint in robot.joints_in_tree_order()], robot.root.name
    groups: dict[str, dict[str, Line]] = {}
    for i, (name, unit) in enumerate(coordinates.positions(robot)):
        if unit == "1":
            continue  # of a quaternion, which tells the eye nothing
        kind = "joint" if name in joints else "position" if unit == "m" else "heading"
        group = groups.setdefault(f"{kind}\nerror [m{unit}]", {})
        # A joint has the colour of its torque, and so one among all joints.
        colour = colours(len(run.bed.joints))[joints.index(name)] if name in joints else colours(3)[len(group)]
        group[words(name.removeprefix(f"{root}_"))] = Line(error[:, i], colour)
    return [lines(run, label, group, zero=True) for label, group in groups.items()]
