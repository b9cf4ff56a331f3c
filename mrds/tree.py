"""Kinematics of one module: position and velocity of every body, as expressions in q and u.

Planar modules are spatial ones whose bodies turn about z and stay at z = 0: the zeros are structural and cost nothing.
q and u are named and ordered by `config.coordinates`. Frames: W world, P parent, B the body at hand, J the axes of a
joint, S the section of a flexible link, O the origin of the root.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property

import casadi as ca
import numpy as np

from granite.config.base import spatial
from granite.config.coordinates import amplitudes, positions, velocities
from granite.config.inertia import SpatialInertia
from granite.config.modules import Body, Joint, Module
from granite.mrds.flexible.link import FlexibleLink
from granite.mrds.frames import BodyFrame, FrameAccelerations, PointFrame, at_point
from granite.mrds.masses import BeamMass, BodyMass
from granite.mrds.symbols import rate_of_quaternion, rotation, rotation_of_angles, rotation_of_quaternion, vector


class Tree:
    """Symbols q and u of a module, the kinematic map q' = N(q) u, and the frames of its bodies.

    Parameters
    ----------
    module
        The module, as configured.
    base_pose
        Position (3) [m] and axes (3, 3) of a fixed base, in place of the module's own placement.

    Attributes
    ----------
    q, u
        (n_q), (n_u) symbols, ordered as `positions` and `velocities` (`config.coordinates`).
    q_dot
        (n_q) N(q) u.
    frames, bodies
        Every `BodyFrame` after its parent, and every mass.

    Examples
    --------
    >>> tree = Tree(module)
    >>> tip = tree.point("link", (0.4, 0.0)).position
    """

    def __init__(self, module: Module, base_pose: tuple[ca.SX, ca.SX] | None = None) -> None:
        self.module = module
        self.positions = positions(module)
        self.velocities = velocities(module)
        self.q = ca.SX.sym("q", len(self.positions))
        self.u = ca.SX.sym("u", len(self.velocities))
        #: position of O, and the frame of the root body
        self.origin: ca.SX
        self.root: BodyFrame
        self.origin, self.root, self.q_dot = self._base(*(base_pose or _placement(module)))
        self.links, self._amplitudes = self._links(module)
        #: every frame with a mass in its subtree; each comes after its parent
        self.frames = [*reversed(self.root.chain)]
        self._frame_of = {module.root.name: self.root}
        self._sections: dict[tuple[str, float], BodyFrame] = {}
        joints = module.joints_in_tree_order()
        first = len(self.velocities) - len(amplitudes(module))
        for i, joint in enumerate(joints, start=first - len(joints)):
            parent, arm = self._carrier(joint.parent, joint.origin_m)
            # Positions may be more than velocities, by a quaternion: counted from the end they are the same.
            child = _child(parent, arm, joint, self.q[i - len(self.velocities)], self.u[i], i)
            self.frames += [child] if parent in self.frames else [parent, child]
            self._frame_of[joint.child] = child
        #: all masses: one of each rigid body; of a flexible link those of its hub, beam and body at the tip
        self.bodies = tuple(mass for body in module.in_tree_order() for mass in self._masses(body))
        self.gravity = vector(spatial(module.gravity_m_s2))

    def elastic_force(self) -> ca.SX:
        """K a + D a' of the flexible links, k (q - q0) of joints with springs (n_u), on the left of the equations."""
        bent = ca.vertcat(ca.SX(0, 1), *(link.elastic_force for link in self.links.values()))
        force = ca.vertcat(ca.SX(self.u.numel() - bent.numel(), 1), bent)
        for i, (k, stretch) in self._springs().items():
            force[i] = k * stretch
        return force

    def elastic_energy(self) -> ca.SX:
        """Energy of the flexible links and of springs in joints [J]."""
        energy = sum((link.strain_energy for link in self.links.values()), ca.SX(0))
        return energy + sum((k * stretch**2 / 2 for k, stretch in self._springs().values()), ca.SX(0))

    def _springs(self) -> dict[int, tuple[float, ca.SX]]:
        """Of each joint with a spring, by its index in u: stiffness, and how far it is from where it is slack."""
        joints, modes = self.module.joints_in_tree_order(), len(amplitudes(self.module))
        springs = {}
        for i, joint in enumerate(joints, start=len(self.velocities) - modes - len(joints)):
            stiffness, slack = joint.spring
            if stiffness:
                springs[i] = stiffness, self.q[i - len(self.velocities)] - slack
        return springs

    def point(self, body: str, position: tuple[float, ...]) -> PointFrame:
        """The frame at a point of a body; on a flexible link, that of the cross-section there.

        Parameters
        ----------
        body
            Name of a body of the module.
        position
            (2) or (3) in the axes of the body [m].

        Returns
        -------
        PointFrame
            Pose, twist, Jacobian and J' u, in world axes.
        """
        carrier, arm = self._carrier(body, position)
        return at_point(carrier, arm, self.origin, self.drifts)

    def point_position(self, body: str, position: tuple[float, ...]) -> ca.SX:
        """World position of a point fixed in a body."""
        return self.point(body, position).position

    def point_velocity(self, body: str, position: tuple[float, ...]) -> ca.SX:
        """World velocity of a point fixed in a body."""
        return self.point(body, position).velocity

    def projected(self) -> ca.SX:
        """q with its quaternion, if it has one, normalised."""
        if not self._has_quaternion:
            return self.q
        quaternion = self.q[3:7]
        return ca.vertcat(self.q[:3], quaternion / ca.norm_2(quaternion), self.q[7:])

    @cached_property
    def drifts(self) -> FrameAccelerations:
        """Accelerations of all frames with u' = 0 (velocity-product terms and gravity)."""
        return FrameAccelerations(ca.SX(self.u.numel(), 1), self.gravity)

    @property
    def _has_quaternion(self) -> bool:
        return self.module.base == "floating" and self.module.dimension == "spatial"

    def _base(self, position: ca.SX, axes: ca.SX) -> tuple[ca.SX, BodyFrame, ca.SX]:
        """Position of O, the frame of the root body, and q'; position and axes are those of a fixed base."""
        q = self.q
        u = self.u
        zero = ca.SX(3, 1)
        if self.module.base == "fixed":
            nothing = ca.SX(3, 0)
            return position, BodyFrame(None, axes, zero, (), ca.SX(0, 1), nothing, nothing, zero, zero), u
        # A floating base translates along the axes of the world, then rotates about its own.
        if self.module.dimension == "planar":
            origin = vector([q[0], q[1]])
            R = rotation((0, 0, 1), q[2])
            q_dot = u
            S_v, S_w = ca.SX.eye(3)[:, :2], ca.SX.eye(3)[:, 2]
        else:
            origin, R = q[:3], rotation_of_quaternion(q[3:7])
            q_dot = ca.vertcat(u[:3], rate_of_quaternion(q[3:7], u[3:6]), u[6:])
            S_v, S_w = ca.SX.eye(3), ca.SX.eye(3)
        d, n = S_v.shape[1], S_v.shape[1] + S_w.shape[1]
        translating = BodyFrame(None, ca.SX.eye(3), zero, tuple(range(d)), u[:d], S_v, ca.SX(3, d), zero, zero)
        rotating = BodyFrame(translating, R, zero, tuple(range(d, n)), u[d:n], ca.SX(3, n - d), S_w, zero, zero)
        return origin, rotating, q_dot

    def _links(self, module: Module) -> tuple[dict[str, FlexibleLink], dict[str, tuple[int, ...]]]:
        """The flexible links by name, and the indices of their modal rates, which are the last velocities."""
        links = {}
        columns = {}
        first = len(self.velocities) - len(amplitudes(module))
        for body in module.in_tree_order():
            if (flexible := body.flexible) is not None:
                indices = tuple(range(first, first + flexible.n_modes))
                ahead = len(self.positions) - len(self.velocities)
                q = self.q[[ahead + i for i in indices], 0]
                links[body.name] = FlexibleLink(flexible, q, self.u[list(indices), 0])
                columns[body.name] = indices
                first += flexible.n_modes
        return links, columns

    def _carrier(self, body: str, position: tuple[float, ...]) -> tuple[BodyFrame, ca.SX]:
        """The frame in which a point of a body is fixed, and its position there."""
        frame, (x, y, z) = self._frame_of[body], spatial(position)
        link = self.links.get(body)
        if link is None or x <= 0:
            return frame, vector((x, y, z))
        along = min(x, link.flexible.length_m)
        if (body, along) not in self._sections:
            self._sections[body, along] = _section(frame, link, along, self._amplitudes[body])
        return self._sections[body, along], vector((x - along, y, z))

    def _masses(self, body: Body) -> Iterator[BodyMass]:
        frame = self._frame_of[body.name]
        link = self.links.get(body.name)
        if link is None or body.mass_kg > 0 or np.any(body.inertia_kg_m2):
            inertia = _inertia(body.inertia_kg_m2)
            yield BodyMass(frame, body.name, body.mass_kg, vector(spatial(body.com_m)), inertia)
        if link is None:
            return
        mass = float(link.mass[0, 0])
        com = link.fields @ link.mass[:, 0] / mass
        yield BeamMass(frame, body.name, mass, com, link.rotary, self._amplitudes[body.name], link=link)
        flexible = link.flexible
        if flexible.has_tip_body:
            tip, _ = self._carrier(body.name, (flexible.length_m, 0.0))
            self.frames += [] if tip in self.frames else [tip]
            inertia = _inertia(flexible.tip_inertia_kg_m2)
            yield BodyMass(tip, body.name, flexible.tip_mass_kg, vector(spatial(flexible.tip_com_m)), inertia)


def _placement(module: Module) -> tuple[ca.SX, ca.SX]:
    return vector(spatial(module.placement_m)), rotation_of_angles(module.placement_rad)


def _inertia(moments: float | SpatialInertia) -> ca.SX:
    if isinstance(moments, float):
        inertia = ca.SX(3, 3)
        inertia[2, 2] = moments
        return inertia
    xx, yy, zz, xy, xz, yz = moments
    return ca.horzcat(vector([xx, xy, xz]), vector([xy, yy, yz]), vector([xz, yz, zz]))


def _child(parent: BodyFrame, r: ca.SX, joint: Joint, q: ca.SX, u: ca.SX, index: int) -> BodyFrame:
    """The frame of the child of a joint: the parent's, displaced by the joint's origin r, rotation and coordinate."""
    R_PJ, zero = rotation_of_angles(joint.rotation_rad), ca.SX(3, 1)
    length = math.hypot(*joint.axis)
    x, y, z = (a / length for a in spatial(joint.axis))
    axis = vector([x, y, z])
    if joint.kind == "revolute":
        return BodyFrame(parent, R_PJ @ rotation((x, y, z), q), r, (index,), u, zero, axis, zero, zero)
    return BodyFrame(parent, R_PJ, r + R_PJ @ (axis * q), (index,), u, axis, zero, zero, zero)


def _section(frame: BodyFrame, link: FlexibleLink, x: float, amplitudes: tuple[int, ...]) -> BodyFrame:
    """The frame of a cross-section of a flexible link, which moves with the modal amplitudes of the link."""
    p_BS, R_BS, v_BS, w_BS = link.section(x)
    v, w = ca.densify(v_BS), ca.densify(w_BS)
    S_v, c_v = ca.jacobian(v, link.u), ca.jtimes(v, link.q, link.u)
    S_w, c_w = ca.jacobian(w, link.u), ca.jtimes(w, link.q, link.u)
    # v_BS is in the axes of the link's base, w_BS in those of the section, in which its rate has the same components.
    return BodyFrame(frame, R_BS, p_BS, amplitudes, link.u, R_BS.T @ S_v, S_w, R_BS.T @ c_v, c_w)
