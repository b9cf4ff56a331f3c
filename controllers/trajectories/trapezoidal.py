"""Trapezoidal velocity: constant acceleration, coasting, constant deceleration.

With r the ramp as a part of the duration, the normalised velocity of the coast is v = 1 / (1 - r), and

    tau < r        s = v tau^2 / (2 r)
    tau <= 1 - r   s = v (tau - r / 2)
    tau > 1 - r    s = 1 - v (1 - tau)^2 / (2 r)

A base coasts without propellant: the impulse for a mass m over the distance A is 2 m A / (t_f - t_ramp), where a
minimum-jerk path needs 2 * 1.875 m A / t_f. The shorter the ramp, the less impulse and the more thrust.
"""

from __future__ import annotations

from typing import ClassVar

import casadi as ca

from granite.controllers.trajectories.segment import Segment


class Trapezoidal(Segment):
    """Accelerates, coasts and decelerates; the acceleration jumps four times."""

    name: ClassVar[str] = "trapezoidal"

    @staticmethod
    def curve(tau: ca.SX, ramp: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Three parts in time."""
        speed, left = 1 / (1 - ramp), 1 - tau
        slope = speed / ramp
        starts, coasts = tau < ramp, tau <= 1 - ramp

        def part(start: ca.SX, coast: ca.SX, stop: ca.SX) -> ca.SX:
            return ca.if_else(starts, start, ca.if_else(coasts, coast, stop))

        return (
            part(slope * tau * tau / 2, speed * (tau - ramp / 2), 1 - slope * left * left / 2),
            part(slope * tau, speed, slope * left),
            part(slope, ca.SX(0.0), -slope),
        )
