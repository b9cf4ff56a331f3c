"""Frames that carry each other, and how they move.

A frame moves against its parent with velocities of its own: a floating base slides, then turns; a joint does one of
both; the section of a flexible link does both with the amplitudes of the link. Vectors are in the axes of the frame at
hand, where those of a joint are mostly zeros (Featherstone 2008, chapters 2 and 5). W is the world, P the parent, B
the frame itself, O the origin of the module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca

from granite.mrds.symbols import crossed


@dataclass(frozen=True, eq=False)
class Frame:
    """Axes that move, with velocities `u` of their own: one column of `slide` and of `turn` for each."""

    parent: Frame | None
    R_PB: ca.SX
    p_PB: ca.SX  #: place of the origin, in the axes of the parent
    own: tuple[int, ...]  #: which of all velocities are its own
    u: ca.SX  #: these velocities
    slide: ca.SX  #: how fast a unit of each moves the origin, seen from the parent
    turn: ca.SX  #: how fast it turns the axes
    slide_drift: ca.SX  #: rate of the sliding velocity, seen from the parent, while u does not change
    turn_drift: ca.SX  #: rate of the turning velocity

    @cached_property
    def R_WB(self) -> ca.SX:
        """Its axes in the world."""
        return self.parent.R_WB @ self.R_PB if self.parent else self.R_PB

    @cached_property
    def p_OB(self) -> ca.SX:
        """Place of its origin from O, in world axes."""
        return self.parent.p_OB + self.parent.R_WB @ self.p_PB if self.parent else self.p_PB

    @cached_property
    def w(self) -> ca.SX:
        """Angular velocity."""
        return self._carried_turning + self._turning

    @cached_property
    def v(self) -> ca.SX:
        """Velocity of the origin."""
        if self.parent is None:
            return self._sliding
        return self.R_PB.T @ (self.parent.v + ca.cross(self.parent.w, self.p_PB)) + self._sliding

    @cached_property
    def chain(self) -> tuple[Frame, ...]:
        """This frame and all that carry it, the first one last."""
        return (self, *(self.parent.chain if self.parent else ()))

    @cached_property
    def _sliding(self) -> ca.SX:
        return self.slide @ self.u

    @cached_property
    def _turning(self) -> ca.SX:
        return self.turn @ self.u

    @cached_property
    def _carried_turning(self) -> ca.SX:
        """The angular velocity of the parent."""
        return self.R_PB.T @ self.parent.w if self.parent else ca.SX(3, 1)

    def rate(self, parent: Rate, u_dot: ca.SX) -> Rate:
        """Its accelerations, from those of its parent and of its own velocities."""
        own, w = u_dot[list(self.own), 0], self._carried_turning
        a, alpha = parent.a, parent.alpha
        if self.parent:
            w_P = self.parent.w
            a = self.R_PB.T @ (a + ca.cross(alpha, self.p_PB) + ca.cross(w_P, ca.cross(w_P, self.p_PB)))
            alpha = self.R_PB.T @ alpha
        a += 2 * ca.cross(w, self._sliding) + self.slide @ own + self.slide_drift
        return Rate(a, alpha + ca.cross(w, self._turning) + self.turn @ own + self.turn_drift)

    def to_parent(self, wrench: Wrench) -> Wrench:
        """A force and its moment about this origin, in the axes of the parent and about the parent's origin."""
        force, moment = self.R_PB @ wrench.force, self.R_PB @ wrench.moment
        return Wrench(force, moment + crossed(self.p_PB, force))

    def feels(self, wrench: Wrench) -> ca.SX:
        """What a force and its moment are along its own velocities (virtual power)."""
        return self.slide.T @ wrench.force + self.turn.T @ wrench.moment


class Wrench(NamedTuple):
    """Forces, or momenta, and their moments about the origin of a frame: one column for each."""

    force: ca.SX
    moment: ca.SX

    def and_of(self, other: Wrench) -> Wrench:
        """Both together."""
        return Wrench(self.force + other.force, self.moment + other.moment)


class Rate(NamedTuple):
    """Accelerations of a frame: of its origin less gravity, and of its turning."""

    a: ca.SX
    alpha: ca.SX


class Rates:
    """Accelerations of all frames for given u', as if the world were accelerated against gravity."""

    def __init__(self, u_dot: ca.SX, gravity: ca.SX) -> None:
        self.u_dot, self.gravity = u_dot, gravity
        self._known: dict[Frame, Rate] = {}

    def __getitem__(self, frame: Frame) -> Rate:
        if frame not in self._known:
            parent = self[frame.parent] if frame.parent else Rate(frame.R_PB.T @ -self.gravity, ca.SX(3, 1))
            self._known[frame] = frame.rate(parent, self.u_dot)
        return self._known[frame]


class PointFrame(NamedTuple):
    """Axes at a place on a body, all in world axes; twists put the linear part first."""

    position: ca.SX
    rotation: ca.SX
    velocity: ca.SX
    angular_velocity: ca.SX
    jacobian: ca.SX  #: twist = jacobian @ u
    drift: ca.SX  #: rate of the twist while u does not change


def at_point(carrier: Frame, p_BQ: ca.SX, origin: ca.SX, rates: Rates) -> PointFrame:
    """The point Q of a frame; `origin` is where O is, and `rates` are those while u does not change."""
    R, w, (a, alpha) = carrier.R_WB, carrier.w, rates[carrier]
    place = carrier.p_OB + R @ p_BQ
    J = ca.SX(6, rates.u_dot.numel())
    for frame in carrier.chain:
        if frame.own:
            slide, turn = frame.R_WB @ frame.slide, frame.R_WB @ frame.turn
            J[:, list(frame.own)] = ca.vertcat(slide - crossed(place - frame.p_OB, turn), turn)
    drift = R @ (a + ca.cross(alpha, p_BQ) + ca.cross(w, ca.cross(w, p_BQ))) + rates.gravity
    v = R @ (carrier.v + ca.cross(w, p_BQ))
    return PointFrame(origin + place, R, v, R @ w, J, ca.vertcat(drift, R @ alpha))
