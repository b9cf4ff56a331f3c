"""Kinematics of one module: where every body is and how fast it moves, as expressions in q and u.

Planar modules are spatial ones whose bodies turn about z and stay at z = 0: the zeros are structural and cost nothing.
q and u are named and ordered by `config.coordinates`. Frames: W world, P parent, C child, B the body at hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca

from config.base import spatial
from config.coordinates import positions, velocities
from config.modules import Body, Joint, Module
from mrds.symbols import rate_of_quaternion, rotation, rotation_of_angles, rotation_of_quaternion, vector


@dataclass(frozen=True)
class BodyKinematics:
    """One body: pose of its frame, twist of its frame in its own axes, mass data."""

    name: str
    R_WB: ca.SX
    p_WB: ca.SX
    v_B: ca.SX  #: velocity of the body's origin, in body axes
    w_B: ca.SX  #: angular velocity, in body axes
    mass: float
    com: ca.SX  #: mass centre, in body axes
    inertia: ca.SX  #: about the mass centre, in body axes

    @property
    def v_C(self) -> ca.SX:
        """Velocity of the mass centre, in body axes."""
        return self.v_B + ca.cross(self.w_B, self.com)

    @property
    def p_WC(self) -> ca.SX:
        """Position of the mass centre, in world axes."""
        return self.p_WB + self.R_WB @ self.com

    @property
    def v_WC(self) -> ca.SX:
        """Velocity of the mass centre, in world axes."""
        return self.R_WB @ self.v_C


class Tree:
    """A module's symbols q and u, the kinematic map q' = N(q) u, and the kinematics of its bodies."""

    def __init__(self, module: Module, base_pose: tuple[ca.SX, ca.SX] | None = None) -> None:
        """`base_pose`, position and axes, stands in for the module's own placement of a fixed base."""
        self.module = module
        self._base_pose = base_pose or _placement(module)
        self.positions = positions(module)
        self.velocities = velocities(module)
        self.q = ca.SX.sym("q", len(self.positions))
        self.u = ca.SX.sym("u", len(self.velocities))
        root, self.q_dot = self._root(module)
        by_name = {root.name: root}
        n = len(module.joints)
        carried = zip(module.joints_in_tree_order(), module.in_tree_order()[1:], strict=True)
        for i, (joint, body) in enumerate(carried, start=-n):
            by_name[body.name] = _carried(by_name[joint.parent], joint, body, self.q[i], self.u[i])
        self.bodies = tuple(by_name.values())
        self.gravity = vector(spatial(module.gravity_m_s2))

    def body(self, name: str) -> BodyKinematics:
        """The body of that name."""
        return next(b for b in self.bodies if b.name == name)

    def point_position(self, body: str, position: tuple[float, ...]) -> ca.SX:
        """World position of a point fixed in a body."""
        b = self.body(body)
        return b.p_WB + b.R_WB @ vector(spatial(position))

    def point_velocity(self, body: str, position: tuple[float, ...]) -> ca.SX:
        """World velocity of a point fixed in a body."""
        b = self.body(body)
        return b.R_WB @ (b.v_B + ca.cross(b.w_B, vector(spatial(position))))

    def projected(self) -> ca.SX:
        """q with its quaternion, if it has one, at unit length again."""
        if not self._has_quaternion:
            return self.q
        quaternion = self.q[3:7]
        return ca.vertcat(self.q[:3], quaternion / ca.norm_2(quaternion), self.q[7:])

    @property
    def _has_quaternion(self) -> bool:
        return self.module.base == "floating" and self.module.dimension == "spatial"

    def _root(self, module: Module) -> tuple[BodyKinematics, ca.SX]:
        """The root body and q'."""
        q, u, zero = self.q, self.u, ca.SX(3, 1)
        if module.base == "fixed":
            position, axes = self._base_pose
            return _body(module.root, axes, position, zero, zero), u
        if module.dimension == "planar":
            R = rotation((0, 0, 1), q[2])
            pose = _body(module.root, R, vector([q[0], q[1], 0]), R.T @ vector([u[0], u[1], 0]), vector([0, 0, u[2]]))
            return pose, u
        R = rotation_of_quaternion(q[3:7])
        pose = _body(module.root, R, q[:3], R.T @ u[:3], u[3:6])
        return pose, ca.vertcat(u[:3], rate_of_quaternion(q[3:7], u[3:6]), u[6:])


def _placement(module: Module) -> tuple[ca.SX, ca.SX]:
    return vector(spatial(module.placement_m)), rotation_of_angles(module.placement_rad)


def _body(body: Body, R_WB: ca.SX, p_WB: ca.SX, v_B: ca.SX, w_B: ca.SX) -> BodyKinematics:
    moments = body.inertia_kg_m2
    if isinstance(moments, float):
        inertia = ca.SX(3, 3)
        inertia[2, 2] = moments
    else:
        xx, yy, zz, xy, xz, yz = moments
        inertia = ca.horzcat(vector([xx, xy, xz]), vector([xy, yy, yz]), vector([xz, yz, zz]))
    com = vector(spatial(body.com_m))
    return BodyKinematics(body.name, R_WB, p_WB, v_B, w_B, body.mass_kg, com, inertia)


def _carried(parent: BodyKinematics, joint: Joint, body: Body, q: ca.SX, u: ca.SX) -> BodyKinematics:
    """The child of a joint: its frame is the parent's, moved by the joint's origin, rotation and coordinate."""
    R_PJ = rotation_of_angles(joint.rotation_rad)
    length = math.hypot(*joint.axis)
    x, y, z = (a / length for a in spatial(joint.axis))
    axis, r = vector([x, y, z]), vector(spatial(joint.origin_m))
    if joint.kind == "revolute":
        R_PC, slide, turn = R_PJ @ rotation((x, y, z), q), ca.SX(3, 1), axis * u
    else:
        R_PC, slide, turn = R_PJ, axis * u, ca.SX(3, 1)
        r = r + R_PJ @ (axis * q)
    return _body(
        body,
        parent.R_WB @ R_PC,
        parent.p_WB + parent.R_WB @ r,
        R_PC.T @ (parent.v_B + ca.cross(parent.w_B, r)) + slide,
        R_PC.T @ parent.w_B + turn,
    )
