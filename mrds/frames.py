"""Frames of a kinematic tree: pose, velocity, acceleration, and the wrenches that they pass to their parents.

A frame moves relative to its parent with velocities of its own, through its motion subspace S = [S_v; S_w]
(Featherstone 2008, chapters 2 to 5; linear part first here). A floating base is two frames, one that translates and one
that rotates; a joint is one frame; so is a cross-section of a flexible link, which moves with the modal amplitudes of
the link. Vectors are in the axes of the frame itself, where those of a joint are mostly zeros. W is the world, P the
parent, B the frame itself, O the origin of the module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca

from granite.mrds.symbols import crossed


@dataclass(frozen=True, eq=False)
class BodyFrame:
    """A frame with velocities `u` of its own; its motion subspace has one column for each of them."""

    parent: BodyFrame | None
    R_PB: ca.SX
    p_PB: ca.SX  #: position of the origin, in the axes of the parent
    indices: tuple[int, ...]  #: indices of its velocities in those of the module
    u: ca.SX  #: these velocities
    S_v: ca.SX  #: (3, k) motion subspace, linear: velocity of the origin relative to the parent
    S_w: ca.SX  #: (3, k) motion subspace, angular
    c_v: ca.SX  #: (3) velocity-product acceleration, linear: rate of S_v u seen from the parent while u is constant
    c_w: ca.SX  #: (3) velocity-product acceleration, angular

    @cached_property
    def R_WB(self) -> ca.SX:
        """Rotation from the frame to the world."""
        return self.parent.R_WB @ self.R_PB if self.parent else self.R_PB

    @cached_property
    def p_OB(self) -> ca.SX:
        """Position of the origin from O, in world axes."""
        return self.parent.p_OB + self.parent.R_WB @ self.p_PB if self.parent else self.p_PB

    @cached_property
    def w(self) -> ca.SX:
        """Angular velocity."""
        return self._w_parent + self._w_relative

    @cached_property
    def v(self) -> ca.SX:
        """Velocity of the origin."""
        if self.parent is None:
            return self._v_relative
        return self.R_PB.T @ (self.parent.v + ca.cross(self.parent.w, self.p_PB)) + self._v_relative

    @cached_property
    def chain(self) -> tuple[BodyFrame, ...]:
        """This frame and its ancestors, the root last."""
        return (self, *(self.parent.chain if self.parent else ()))

    @cached_property
    def _v_relative(self) -> ca.SX:
        return self.S_v @ self.u

    @cached_property
    def _w_relative(self) -> ca.SX:
        return self.S_w @ self.u

    @cached_property
    def _w_parent(self) -> ca.SX:
        """Angular velocity of the parent."""
        return self.R_PB.T @ self.parent.w if self.parent else ca.SX(3, 1)

    def acceleration(self, parent: SpatialAcceleration, u_dot: ca.SX) -> SpatialAcceleration:
        """Acceleration from that of the parent and from u' of the module (forward recursion)."""
        own_u_dot, w = u_dot[list(self.indices), 0], self._w_parent
        a, alpha = parent.a, parent.alpha
        if self.parent:
            w_P = self.parent.w
            a = self.R_PB.T @ (a + ca.cross(alpha, self.p_PB) + ca.cross(w_P, ca.cross(w_P, self.p_PB)))
            alpha = self.R_PB.T @ alpha
        a += 2 * ca.cross(w, self._v_relative) + self.S_v @ own_u_dot + self.c_v
        return SpatialAcceleration(a, alpha + ca.cross(w, self._w_relative) + self.S_w @ own_u_dot + self.c_w)

    def to_parent(self, wrench: Wrench) -> Wrench:
        """A wrench at this origin as one at the parent's origin, in the axes of the parent."""
        force = self.R_PB @ wrench.force
        moment = self.R_PB @ wrench.moment
        return Wrench(force, moment + crossed(self.p_PB, force))

    def project(self, wrench: Wrench) -> ca.SX:
        """S^T f: the wrench projected on the motion subspace, a generalised force along the frame's velocities."""
        return self.S_v.T @ wrench.force + self.S_w.T @ wrench.moment


@dataclass(frozen=True)
class Wrench:
    """Forces, or momenta, and their moments about the origin of a frame: one column for each."""

    force: ca.SX
    moment: ca.SX

    def __add__(self, other: Wrench) -> Wrench:
        return Wrench(self.force + other.force, self.moment + other.moment)


class SpatialAcceleration(NamedTuple):
    """Acceleration of a frame: of its origin less gravity, and angular."""

    a: ca.SX
    alpha: ca.SX


class FrameAccelerations:
    """Accelerations of all frames for given u'. Gravity enters as an acceleration of the world by -g."""

    def __init__(self, u_dot: ca.SX, gravity: ca.SX) -> None:
        self.u_dot = u_dot
        self.gravity = gravity
        self._known: dict[BodyFrame, SpatialAcceleration] = {}

    def __getitem__(self, frame: BodyFrame) -> SpatialAcceleration:
        if frame not in self._known:
            if frame.parent:
                parent = self[frame.parent]
            else:
                parent = SpatialAcceleration(frame.R_PB.T @ -self.gravity, ca.SX(3, 1))
            self._known[frame] = frame.acceleration(parent, self.u_dot)
        return self._known[frame]


class PointFrame(NamedTuple):
    """A frame at a point of a body, in world axes; twists have the linear part first."""

    position: ca.SX
    rotation: ca.SX
    velocity: ca.SX
    angular_velocity: ca.SX
    jacobian: ca.SX  #: (6, n_u) J: twist = J u
    drift: ca.SX  #: (6) J' u: acceleration of the point while u is constant


def at_point(carrier: BodyFrame, p_BQ: ca.SX, origin: ca.SX, accelerations: FrameAccelerations) -> PointFrame:
    """The point Q of a frame; `origin` is the position of O, and `accelerations` are those with u' = 0."""
    R = carrier.R_WB
    w = carrier.w
    (a, alpha) = accelerations[carrier]
    p_OQ = carrier.p_OB + R @ p_BQ
    J = ca.SX(6, accelerations.u_dot.numel())
    for frame in carrier.chain:
        if frame.indices:
            S_v, S_w = frame.R_WB @ frame.S_v, frame.R_WB @ frame.S_w
            J[:, list(frame.indices)] = ca.vertcat(S_v - crossed(p_OQ - frame.p_OB, S_w), S_w)
    drift = R @ (a + ca.cross(alpha, p_BQ) + ca.cross(w, ca.cross(w, p_BQ))) + accelerations.gravity
    v = R @ (carrier.v + ca.cross(w, p_BQ))
    return PointFrame(origin + p_OQ, R, v, R @ w, J, ca.vertcat(drift, R @ alpha))
