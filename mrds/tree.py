"""Kinematics of one module: where every body is and how fast it moves, as expressions in q and u.

Planar modules are spatial ones whose bodies turn about z and stay at z = 0: the zeros are structural and cost nothing.
q and u are named and ordered by `config.coordinates`. Frames: W world, P parent, C child, B the body at hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from config.base import spatial
from config.coordinates import amplitudes, positions, velocities
from config.modules import Body, Joint, Module
from mrds.flexible.link import Link
from mrds.symbols import rate_of_quaternion, rotation, rotation_of_angles, rotation_of_quaternion, vector


@dataclass(frozen=True)
class Frame:
    """Axes that move: their pose in the world, and their twist in themselves."""

    R_WB: ca.SX
    p_WB: ca.SX
    v_B: ca.SX  #: velocity of the origin, in its own axes
    w_B: ca.SX  #: angular velocity, in its own axes


@dataclass(frozen=True)
class BodyKinematics(Frame):
    """Rigid mass in the frame of a body.

    To the dynamics a mass is a sum of fields over its points: each field has a place and a velocity, and `gram` the
    integrals of their products over the mass. A rigid mass needs one, its mass centre.
    """

    name: str
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

    @property
    def fields(self) -> tuple[ca.SX, ...]:
        """Velocity of each field, in body axes."""
        return (self.v_C,)

    @property
    def places(self) -> tuple[ca.SX, ...]:
        """Position of each field, in world axes."""
        return (self.p_WC,)

    @property
    def shares(self) -> tuple[int, ...]:
        """How many origins of the frame there are in each field."""
        return (1,)

    @property
    def gram(self) -> ca.DM:
        """Integrals of the products of the fields over the mass."""
        return ca.DM(self.mass)

    @property
    def spin(self) -> ca.SX:
        """What `inertia` goes with: the angular velocity, in body axes, and rates of twist."""
        return self.w_B


@dataclass(frozen=True)
class BentMass(BodyKinematics):
    """Mass of a flexible link, spread along its axis: the fields are those of `mrds.flexible.integrals`."""

    link: Link

    @property
    def v_C(self) -> ca.SX:
        """Velocity of the mass centre, in body axes."""
        return super().v_C + self.link.field_rates @ self.link.mass[:, 0] / self.mass

    @property
    def fields(self) -> tuple[ca.SX, ...]:
        """Velocity of each field, in body axes."""
        arms = zip(ca.horzsplit(self.link.fields), ca.horzsplit(self.link.field_rates), strict=True)
        first, *others = (rate + ca.cross(self.w_B, arm) for arm, rate in arms)
        return (first + self.v_B, *others)

    @property
    def places(self) -> tuple[ca.SX, ...]:
        """Position of each field, in world axes."""
        first, *others = ca.horzsplit(self.R_WB @ self.link.fields)
        return (first + self.p_WB, *others)

    @property
    def shares(self) -> tuple[int, ...]:
        """How many origins of the frame there are in each field."""
        return (1, *(0 for _ in range(1, self.link.fields.shape[1])))

    @property
    def gram(self) -> ca.DM:
        """Integrals of the products of the fields over the mass."""
        return self.link.mass

    @property
    def spin(self) -> ca.SX:
        """The angular velocity, in body axes, and the rates of twist."""
        return ca.vertcat(self.w_B, self.link.twist_rates)


class PointFrame(NamedTuple):
    """Axes at a place on a body, all in world axes."""

    position: ca.SX
    rotation: ca.SX
    velocity: ca.SX
    angular_velocity: ca.SX


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
        self.links = self._links(module)
        self._frames = {module.root.name: root}
        joints, first = module.joints_in_tree_order(), len(self.velocities) - len(amplitudes(module))
        for i, joint in enumerate(joints, start=first - len(joints)):
            # Positions may be more than velocities, by a quaternion: counted from the end they are the same.
            q, u = self.q[i - len(self.velocities)], self.u[i]
            parent, arm = self._carrier(joint.parent, joint.origin_m)
            self._frames[joint.child] = _carried(parent, arm, joint, q, u)
        #: all masses: one of each rigid body, and of a flexible link its hub, if it has one, and its beam
        self.bodies = tuple(mass for body in module.in_tree_order() for mass in self._masses(body))
        self.gravity = vector(spatial(module.gravity_m_s2))

    def body(self, name: str) -> BodyKinematics:
        """The first mass of the body of that name, in the body's frame."""
        return next(b for b in self.bodies if b.name == name)

    def elastic_force(self) -> ca.SX:
        """Generalised force that holds the flexible links against their stiffness and damping."""
        forces = [link.elastic_force for link in self.links.values()]
        bent = ca.vertcat(*forces) if forces else ca.SX(0, 1)
        return ca.vertcat(ca.SX(self.u.numel() - bent.numel(), 1), bent)

    def point(self, body: str, position: tuple[float, ...]) -> PointFrame:
        """Axes at a place on a body: the body's own, or on a flexible link those of the cross-section there."""
        carrier, arm = self._carrier(body, position)
        R = carrier.R_WB
        velocity = R @ (carrier.v_B + ca.cross(carrier.w_B, arm))
        return PointFrame(carrier.p_WB + R @ arm, R, velocity, R @ carrier.w_B)

    def point_position(self, body: str, position: tuple[float, ...]) -> ca.SX:
        """World position of a point fixed in a body."""
        return self.point(body, position).position

    def point_velocity(self, body: str, position: tuple[float, ...]) -> ca.SX:
        """World velocity of a point fixed in a body."""
        return self.point(body, position).velocity

    def projected(self) -> ca.SX:
        """q with its quaternion, if it has one, at unit length again."""
        if not self._has_quaternion:
            return self.q
        quaternion = self.q[3:7]
        return ca.vertcat(self.q[:3], quaternion / ca.norm_2(quaternion), self.q[7:])

    @property
    def _has_quaternion(self) -> bool:
        return self.module.base == "floating" and self.module.dimension == "spatial"

    def _root(self, module: Module) -> tuple[Frame, ca.SX]:
        """The frame of the root body and q'."""
        q, u, zero = self.q, self.u, ca.SX(3, 1)
        if module.base == "fixed":
            position, axes = self._base_pose
            return Frame(axes, position, zero, zero), u
        if module.dimension == "planar":
            R = rotation((0, 0, 1), q[2])
            return Frame(R, vector([q[0], q[1], 0]), R.T @ vector([u[0], u[1], 0]), vector([0, 0, u[2]])), u
        R = rotation_of_quaternion(q[3:7])
        q_dot = ca.vertcat(u[:3], rate_of_quaternion(q[3:7], u[3:6]), u[6:])
        return Frame(R, q[:3], R.T @ u[:3], u[3:6]), q_dot

    def _links(self, module: Module) -> dict[str, Link]:
        """The flexible links by name; their amplitudes are the last coordinates."""
        links, to_come = {}, len(amplitudes(module))
        for body in module.in_tree_order():
            if (flexible := body.flexible) is not None:
                n = flexible.modes_y + flexible.modes_z + flexible.modes_x
                q, u = (
                    ca.vertsplit(x, [0, x.numel() - to_come, x.numel() - to_come + n, x.numel()])[1]
                    for x in (self.q, self.u)
                )
                links[body.name] = Link(flexible, q, u)
                to_come -= n
        return links

    def _carrier(self, body: str, position: tuple[float, ...]) -> tuple[Frame, ca.SX]:
        """The frame that a place on a body keeps its distance to, and that distance."""
        frame, (x, y, z) = self._frames[body], spatial(position)
        link = self.links.get(body)
        if link is None or x <= 0:
            return frame, vector((x, y, z))
        along = min(x, link.flexible.length_m)
        p_BS, R_BS, v_BS, w_BS = link.section(along)
        section = Frame(
            frame.R_WB @ R_BS,
            frame.p_WB + frame.R_WB @ p_BS,
            R_BS.T @ (frame.v_B + ca.cross(frame.w_B, p_BS) + v_BS),
            R_BS.T @ frame.w_B + w_BS,
        )
        return section, vector((x - along, y, z))

    def _masses(self, body: Body) -> Iterator[BodyKinematics]:
        frame, link = vars(self._frames[body.name]), self.links.get(body.name)
        if link is None or body.mass_kg > 0 or np.any(body.inertia_kg_m2):
            com = vector(spatial(body.com_m))
            yield BodyKinematics(**frame, name=body.name, mass=body.mass_kg, com=com, inertia=_inertia(body))
        if link is not None:
            mass, n = float(link.mass[0, 0]), link.twist_rates.numel()
            inertia = ca.SX(3 + n, 3 + n)
            about_x = [0, *range(3, 3 + n)]
            inertia[about_x, about_x] = link.roll
            com = link.fields @ link.mass[:, 0] / mass
            inertia = ca.sparsify(inertia)
            yield BentMass(**frame, name=body.name, mass=mass, com=com, inertia=inertia, link=link)


def _placement(module: Module) -> tuple[ca.SX, ca.SX]:
    return vector(spatial(module.placement_m)), rotation_of_angles(module.placement_rad)


def _inertia(body: Body) -> ca.SX:
    moments = body.inertia_kg_m2
    if isinstance(moments, float):
        inertia = ca.SX(3, 3)
        inertia[2, 2] = moments
        return inertia
    xx, yy, zz, xy, xz, yz = moments
    return ca.horzcat(vector([xx, xy, xz]), vector([xy, yy, yz]), vector([xz, yz, zz]))


def _carried(parent: Frame, r: ca.SX, joint: Joint, q: ca.SX, u: ca.SX) -> Frame:
    """The child of a joint: its frame is the parent's, moved by the joint's origin r, rotation and coordinate."""
    R_PJ = rotation_of_angles(joint.rotation_rad)
    length = math.hypot(*joint.axis)
    x, y, z = (a / length for a in spatial(joint.axis))
    axis = vector([x, y, z])
    if joint.kind == "revolute":
        R_PC, slide, turn = R_PJ @ rotation((x, y, z), q), ca.SX(3, 1), axis * u
    else:
        R_PC, slide, turn = R_PJ, axis * u, ca.SX(3, 1)
        r = r + R_PJ @ (axis * q)
    return Frame(
        parent.R_WB @ R_PC,
        parent.p_WB + parent.R_WB @ r,
        R_PC.T @ (parent.v_B + ca.cross(parent.w_B, r)) + slide,
        R_PC.T @ parent.w_B + turn,
    )
