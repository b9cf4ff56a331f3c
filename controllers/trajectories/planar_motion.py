"""Motions of frames in the plane relative to each other: pose (x, y, heading), its rate and its acceleration.

With B relative to A, in the axes of A, and S the quarter turn:

    p = p_A + R_A p_B
    v = v_A + R_A v_B + w_A S R_A p_B
    a = a_A + R_A a_B + 2 w_A S R_A v_B + (alpha_A S - w_A^2) R_A p_B          headings, rates, accelerations add up
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import casadi as ca

_QUARTER = ca.DM([[0.0, -1.0], [1.0, 0.0]])


class PlanarMotion(NamedTuple):
    """Each x, y and heading [m, rad], by second, by second squared: symbols, or numbers."""

    q: Any
    u: Any
    a: Any

    @classmethod
    def fixed(cls, x: float, y: float, heading: float) -> PlanarMotion:
        """A frame that does not move."""
        return cls(ca.DM([x, y, heading]), ca.DM.zeros(3), ca.DM.zeros(3))

    def carries(self, other: PlanarMotion) -> PlanarMotion:
        """The motion of a frame that moves like `other` relative to this one."""
        (q, u, a), (p, v, b) = self, other
        R = _rotation(q[2])
        arm, slide = R @ p[:2], R @ v[:2]
        turned, rate = _QUARTER @ arm, u[2]
        acceleration = a[:2] + R @ b[:2] + 2 * rate * (_QUARTER @ slide) + a[2] * turned - rate**2 * arm
        return PlanarMotion(
            ca.vertcat(q[:2] + arm, q[2] + p[2]),
            ca.vertcat(u[:2] + slide + rate * turned, rate + v[2]),
            ca.vertcat(acceleration, a[2] + b[2]),
        )

    def seen_from(self, other: PlanarMotion) -> tuple[Any, Any]:
        """Pose and rate relative to a frame, in its axes; the heading within half a turn."""
        inverse = _rotation(-other.q[2])
        p = inverse @ (self.q[:2] - other.q[:2])
        v = inverse @ (self.u[:2] - other.u[:2]) - other.u[2] * (_QUARTER @ p)
        turn = self.q[2] - other.q[2]
        return ca.vertcat(p, turn - whole_turns(turn)), ca.vertcat(v, self.u[2] - other.u[2])

    def inverse(self) -> PlanarMotion:
        """Of a frame that does not move: the frame it is in, relative to it."""
        p = _rotation(-self.q[2]) @ self.q[:2]
        return PlanarMotion.fixed(-float(p[0]), -float(p[1]), -float(self.q[2]))


def whole_turns(angle: Any) -> Any:
    """The whole turns that are nearest to an angle [rad]."""
    return 2 * math.pi * ca.floor(angle / (2 * math.pi) + 0.5)


def _rotation(angle: Any) -> Any:
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(s, c))
