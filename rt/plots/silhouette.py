"""Where the parts of a robot are, seen from above, at many instants at once."""

from __future__ import annotations

import math
from collections.abc import Iterable

import casadi as ca
import numpy as np

from config.base import spatial
from config.records import Array
from config.testbed import Testbed
from mrds.tree import Tree


class Silhouette:
    """Points of the robot by number: `at(q)[:, root]` is the way of the root."""

    def __init__(self, bed: Testbed) -> None:
        robot = bed.robot
        self._points: list[tuple[str, tuple[float, ...]]] = []
        self.root = self._add(robot.root.name)
        #: both ends of every part of an arm, from joint to joint or to a named point
        self.links: list[tuple[int, int]] = []
        for body in robot.in_tree_order()[1:]:
            start = self._add(body.name)
            ends = [self._add(joint.child) for joint in robot.joints if joint.parent == body.name]
            ends += [self._add(point.body, point.position_m) for point in robot.points if point.body == body.name]
            self.links += [(start, end) for end in ends or [self._add(body.name, body.com_m)]]
        #: each thruster's nozzle, and a place a metre down its jet
        self.jets: list[tuple[int, int]] = []
        units = bed.devices.thrusters.units if bed.devices.thrusters else ()
        for unit in units:
            nozzle, push = np.array([spatial(unit.position_m), spatial(unit.direction)])
            down = nozzle - push / np.linalg.norm(push)
            self.jets.append((self._add(robot.root.name, nozzle), self._add(robot.root.name, down)))
        #: the point whose path is drawn: of a robot that stands on the ground, where its last arm ends
        self.followed = self.root if robot.base == "floating" or not self.links else self.links[-1][1]
        #: of the base: a disc of its mass and inertia about z, or as large as what is mounted on it
        disc = math.sqrt(2 * float(np.ravel(robot.root.inertia_kg_m2)[:3][-1]) / robot.root.mass_kg)
        mounted = [j.origin_m for j in robot.joints if j.parent == robot.root.name] + [u.position_m for u in units]
        self.radius = max([disc, *(math.hypot(x, y) for x, y, *_ in mounted)])
        tree = Tree(robot)
        positions = ca.vertcat(*(tree.point_position(body, place)[:2] for body, place in self._points))
        self._function = ca.Function("seen_from_above", [tree.q], [positions])

    def at(self, q: Array) -> Array:
        """x and y of every point: (instants, points, 2) [m]."""
        return np.array(self._function(ca.DM(q.T))).T.reshape(len(q), -1, 2)

    def _add(self, body: str, position: Iterable[float] = (0.0, 0.0)) -> int:
        self._points.append((body, tuple(float(x) for x in position)))
        return len(self._points) - 1
