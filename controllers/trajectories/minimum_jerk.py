"""Minimum-jerk segment: the fifth-order polynomial from rest to rest (Stanford report of 1987, section 4.4.4).

With the amplitude A = end - start and tau = (t - t0) / t_f:

    q   = start + A (6 tau^5 - 15 tau^4 + 10 tau^3)          the report prints a dot on this q, wrongly
    q'  = (A/t_f)   (30 tau^4 - 60 tau^3 + 30 tau^2)
    q'' = (A/t_f^2) (120 tau^3 - 180 tau^2 + 60 tau)

Rate and acceleration are zero at both ends; they peak at 1.875 A/t_f and 5.7735 A/t_f^2.
"""

from __future__ import annotations

from typing import ClassVar

import casadi as ca

from granite.controllers.trajectories.segment import Segment


class MinimumJerk(Segment):
    """Smooth in acceleration; thrusters work all the way."""

    name: ClassVar[str] = "minimum_jerk"

    @staticmethod
    def curve(tau: ca.SX, ramp: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """The polynomial; it has no ramp."""
        square, left = tau * tau, 1 - tau
        way = square * tau * (10 + tau * (6 * tau - 15))
        return way, 30 * square * left * left, 60 * tau * left * (1 - 2 * tau)
