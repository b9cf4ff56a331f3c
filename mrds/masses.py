"""Masses on frames: their rigid inertia, momentum, and inertial wrench.

All in the axes of the frame, about its origin, unless a name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca

from granite.mrds.flexible.link import FlexibleLink
from granite.mrds.frames import BodyFrame, FrameAccelerations, Wrench
from granite.mrds.symbols import crossed, moment_of_inertia, rotated_inertia, symmetric_product


@dataclass(frozen=True)
class Inertia:
    """Inertia of a (composite) rigid body: mass, first moment of mass, and moment of inertia about the origin."""

    mass: float
    first: ca.SX
    second: ca.SX

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.mass + other.mass, self.first + other.first, self.second + other.second)

    def momentum(self, v: ca.SX, w: ca.SX) -> Wrench:
        """Momentum for velocities of the origin and angular velocities, column by column."""
        return Wrench(self.mass * v - crossed(self.first, w), self.second @ w + crossed(self.first, v))

    def to_parent(self, frame: BodyFrame) -> Inertia:
        """The inertia in the axes of the frame's parent, about the parent's origin (parallel-axis theorem)."""
        p, first = frame.p_PB, frame.R_PB @ self.first
        shift = moment_of_inertia(symmetric_product(p, 2 * first + self.mass * p))
        return Inertia(self.mass, first + self.mass * p, rotated_inertia(frame.R_PB, self.second) + shift)


NO_INERTIA = Inertia(0.0, ca.SX(3, 1), ca.SX(3, 3))


@dataclass(frozen=True, eq=False)
class BodyMass:
    """The mass of a rigid body."""

    frame: BodyFrame
    name: str
    mass: float
    com: ca.SX  #: mass centre
    inertia: ca.SX  #: about the mass centre
    amplitudes: tuple[int, ...] = ()  #: indices of the modal rates in the velocities of the module; none if rigid

    @property
    def p_OC(self) -> ca.SX:
        """Position of the mass centre from O, in world axes."""
        return self.frame.p_OB + self.frame.R_WB @ self.com

    @property
    def v_WC(self) -> ca.SX:
        """Velocity of the mass centre, in world axes."""
        return self.frame.R_WB @ self.v_C

    @property
    def v_C(self) -> ca.SX:
        """Velocity of the mass centre."""
        return self.frame.v + ca.cross(self.frame.w, self.com)

    def rigid_inertia(self) -> Inertia:
        """Inertia with the modal amplitudes frozen."""
        about_origin = self.inertia + moment_of_inertia(symmetric_product(self.com, self.mass * self.com))
        return Inertia(self.mass, self.mass * self.com, about_origin)

    def modal_momentum(self) -> tuple[Wrench, ca.SX]:
        """Momentum for a unit rate of each modal amplitude: at the origin, and along the amplitudes."""
        return Wrench(ca.SX(3, 0), ca.SX(3, 0)), ca.SX(0, 0)

    def inertial_wrench(self, accelerations: FrameAccelerations) -> tuple[Wrench, ca.SX]:
        """Wrench that gives the mass its acceleration (Newton, Euler), and generalised force along the amplitudes."""
        w, (a, alpha) = self.frame.w, accelerations[self.frame]
        force = self.mass * (a + ca.cross(alpha, self.com) + ca.cross(w, ca.cross(w, self.com)))
        moment = self.inertia @ alpha + ca.cross(w, self.inertia @ w)
        return Wrench(force, moment + ca.cross(self.com, force)), ca.SX(0, 1)

    def momentum(self) -> Wrench:
        """Linear momentum, and angular momentum."""
        linear = self.mass * self.v_C
        return Wrench(linear, ca.cross(self.com, linear) + self.inertia @ self.frame.w)

    def kinetic_energy(self) -> ca.SX:
        """Kinetic energy [J]."""
        v, w = self.v_C, self.frame.w
        return 0.5 * (self.mass * ca.dot(v, v) + ca.dot(w, self.inertia @ w))


@dataclass(frozen=True, eq=False)
class BeamMass(BodyMass):
    """Distributed mass of a flexible link: a sum over the fields of `mrds.flexible.integrals`.

    Each field has a position and a velocity, and `link.mass` holds the integrals of their products over the mass.
    `inertia` is the rotary inertia of the cross-sections: with the frame, and with the modal rates.
    """

    link: FlexibleLink = field(kw_only=True)

    @property
    def v_C(self) -> ca.SX:
        """Velocity of the mass centre."""
        return super().v_C + self.link.field_rates @ self.link.mass[:, 0] / self.mass

    def rigid_inertia(self) -> Inertia:
        """Inertia with the modal amplitudes frozen."""
        squares = self.link.fields @ self.link.mass @ self.link.fields.T
        return Inertia(self.mass, self.mass * self.com, moment_of_inertia(squares) + self.inertia[:3, :3])

    def modal_momentum(self) -> tuple[Wrench, ca.SX]:
        """Momentum for a unit rate of each modal amplitude: at the origin, and along the amplitudes."""
        momentum, along = self._loads(self.link.field_rates, self.inertia @ ca.vertcat(ca.SX(3, 1), self.link.u))
        force = ca.jacobian(ca.densify(momentum.force), self.link.u)
        moment = ca.jacobian(ca.densify(momentum.moment), self.link.u)
        return Wrench(force, moment), ca.jacobian(ca.densify(along), self.link.u)

    def inertial_wrench(self, accelerations: FrameAccelerations) -> tuple[Wrench, ca.SX]:
        """Wrench that gives the beam its acceleration, and generalised force along the amplitudes."""
        link = self.link
        w = self.frame.w
        (a, alpha) = accelerations[self.frame]
        u_dot = accelerations.u_dot[list(self.amplitudes), 0]
        of_fields = ca.jtimes(link.field_rates, ca.vertcat(link.q, link.u), ca.vertcat(link.u, u_dot))
        of_fields += crossed(alpha, link.fields) + crossed(w, crossed(w, link.fields) + 2 * link.field_rates)
        of_fields[:, 0] += a
        wrench, along = self._loads(of_fields, self.inertia @ ca.vertcat(alpha, u_dot))
        return Wrench(wrench.force, wrench.moment + ca.cross(w, (self.inertia @ self._spin())[:3])), along

    def momentum(self) -> Wrench:
        """Linear momentum, and angular momentum."""
        return self._loads(self._velocities(), self.inertia @ self._spin())[0]

    def kinetic_energy(self) -> ca.SX:
        """Kinetic energy [J]."""
        v, spin = self._velocities(), self._spin()
        return 0.5 * (ca.dot(v @ self.link.mass, v) + ca.dot(spin, self.inertia @ spin))

    def _loads(self, fields: ca.SX, spun: ca.SX) -> tuple[Wrench, ca.SX]:
        """Momentum of field velocities, or force of field accelerations, with the rotary part `spun` of the sections:
        at the origin, and along the amplitudes."""
        F, link = fields @ self.link.mass, self.link
        pairs = zip(ca.horzsplit(link.fields), ca.horzsplit(F), strict=True)
        turning, bending = ca.vertsplit(spun, [0, 3, spun.numel()])
        along = ca.jtimes(ca.vec(link.fields), link.q, ca.vec(F), True) + bending
        return Wrench(F[:, 0], sum((ca.cross(p, f) for p, f in pairs), turning)), along

    def _velocities(self) -> ca.SX:
        """Velocity of each field."""
        velocities = self.link.field_rates + crossed(self.frame.w, self.link.fields)
        velocities[:, 0] += self.frame.v
        return velocities

    def _spin(self) -> ca.SX:
        """The velocities that `inertia` multiplies: angular velocity and modal rates."""
        return ca.vertcat(self.frame.w, self.link.u)
