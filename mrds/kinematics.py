"""Symbols of the motion of some modules of a testbed, and the points on them: what models of sensors are written in."""

from __future__ import annotations

from functools import cached_property

import casadi as ca

from granite.config.layout import Layout
from granite.config.testbed import Testbed
from granite.mrds.frames import PointFrame
from granite.mrds.height_map import GRAVITY, downhill
from granite.mrds.tree import Tree


class Kinematics:
    """Kinematics of the modules of a layout; expressions are made at first use.

    Parameters
    ----------
    bed
        The testbed.
    layout
        Indices of the coordinates of each module in q and u.
    """

    def __init__(self, bed: Testbed, layout: Layout) -> None:
        self.bed, self.layout = bed, layout

    @cached_property
    def trees(self) -> dict[str, Tree]:
        """Kinematics of each module."""
        return {module.name: Tree(module) for module in self.layout.modules}

    @cached_property
    def q(self) -> ca.SX:
        """Symbols of all coordinates."""
        return ca.vertcat(*(tree.q for tree in self.trees.values()))

    @cached_property
    def u(self) -> ca.SX:
        """Symbols of all velocities."""
        return ca.vertcat(*(tree.u for tree in self.trees.values()))

    def point(self, module: str, name: str) -> PointFrame:
        """Pose, velocity, Jacobian and drift of a named point, in the symbols of its module alone."""
        named = next(point for point in self.bed.module(module).points if point.name == name)
        return self.trees[module].point(named.body, named.position_m)

    def free_fall(self, position: ca.SX) -> ca.SX:
        """Acceleration (2) of a free body along the slope of the measured floor at a place; zero without a map."""
        floor = self.bed.floor
        return ca.SX.zeros(2) if floor is None else GRAVITY * downhill(floor.map, position)

    def planar_pose(self, module: str, body: str, position: tuple[float, ...]) -> ca.SX:
        """x, y and heading of a point of a body that moves in the plane."""
        frame, q = self.trees[module].point(body, position), self.trees[module].q
        heading, turned = ca.atan2(frame.rotation[1, 0], frame.rotation[0, 0]), frame.jacobian[5, :]
        if ca.SX(turned).is_constant():  # the sum of the angles, which counts whole turns
            heading = ca.substitute(heading, q, ca.SX.zeros(q.numel())) + turned @ q
        return ca.vertcat(frame.position[:2], heading)
