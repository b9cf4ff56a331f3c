"""Motions of frames in the plane relative to each other: pose (x, y, heading), its rate and its acceleration.

With B relative to A, in the axes of A, and S the quarter turn:

    p = p_A + R_A p_B
    v = v_A + R_A v_B + w_A S R_A p_B
    a = a_A + R_A a_B + 2 w_A S R_A v_B + (alpha_A S - w_A^2) R_A p_B          headings, rates, accelerations add up
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from granite.config.records import Array

_QUARTER = np.array([[0.0, -1.0], [1.0, 0.0]])


class PlanarMotion(NamedTuple):
    """Each x, y and heading [m, rad], by second, by second squared."""

    q: Array
    u: Array
    a: Array

    @classmethod
    def fixed(cls, x: float, y: float, heading: float) -> PlanarMotion:
        """A frame that does not move."""
        return cls(np.array([x, y, heading]), np.zeros(3), np.zeros(3))

    def carries(self, other: PlanarMotion) -> PlanarMotion:
        """The motion of a frame that moves like `other` relative to this one."""
        (q, u, a), (p, v, b) = self, other
        R = _rotation(float(q[2]))
        arm, slide = R @ p[:2], R @ v[:2]
        turned = _QUARTER @ arm
        rate = u[2]
        position = q[:2] + arm
        velocity = u[:2] + slide + rate * turned
        acceleration = a[:2] + R @ b[:2] + 2 * rate * (_QUARTER @ slide) + a[2] * turned - rate**2 * arm
        return PlanarMotion(
            np.array([*position, q[2] + p[2]]),
            np.array([*velocity, rate + v[2]]),
            np.array([*acceleration, a[2] + b[2]]),
        )

    def seen_from(self, other: PlanarMotion) -> tuple[Array, Array]:
        """Pose and rate relative to a frame, in its axes; the heading within half a turn."""
        inverse = _rotation(-float(other.q[2]))
        p = inverse @ (self.q[:2] - other.q[:2])
        v = inverse @ (self.u[:2] - other.u[:2]) - other.u[2] * (_QUARTER @ p)
        heading = math.remainder(self.q[2] - other.q[2], 2 * math.pi)
        return np.array([*p, heading]), np.array([*v, self.u[2] - other.u[2]])

    def inverse(self) -> PlanarMotion:
        """Of a frame that does not move: the frame it is in, relative to it."""
        p = _rotation(-float(self.q[2])) @ self.q[:2]
        return PlanarMotion.fixed(-float(p[0]), -float(p[1]), -float(self.q[2]))


def _rotation(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])
