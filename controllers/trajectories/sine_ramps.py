"""Velocity with sine ramps: an acceleration of half a sine, coasting, a deceleration of half a sine (Sun 1996, 4.58).

With r the ramp as a part of the duration, the normalised velocity of the coast is v = 1 / (1 - r), and

    tau < r        s = v/2 (tau - r/pi sin(pi tau/r))         s'' = v pi/(2 r) sin(pi tau/r)
    tau <= 1 - r   s = v (tau - r / 2)
    tau > 1 - r    as at the start, in reverse

With r = 1/2 it is the cycloid of his turn, s = tau - sin(2 pi tau)/(2 pi) (4.54).
"""

from __future__ import annotations

from typing import ClassVar

import casadi as ca

from granite.controllers.trajectories.segment import Segment


class SineRamps(Segment):
    """Smooth in acceleration, and coasts between the ramps."""

    name: ClassVar[str] = "sine_ramps"

    @staticmethod
    def curve(tau: ca.SX, ramp: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Three parts in time."""
        speed, stops = 1 / (1 - ramp), tau > 1 - ramp
        coasts = ca.logic_and(tau >= ramp, tau <= 1 - ramp)
        within = ca.if_else(stops, 1 - tau, tau)  # of the ramp, from its end at rest
        angle = ca.pi * within / ramp
        way = speed / 2 * (within - ramp / ca.pi * ca.sin(angle))
        rate = speed / 2 * (1 - ca.cos(angle))
        acceleration = speed * ca.pi / (2 * ramp) * ca.sin(angle)
        return (
            ca.if_else(coasts, speed * (tau - ramp / 2), ca.if_else(stops, 1 - way, way)),
            ca.if_else(coasts, speed, rate),
            ca.if_else(coasts, 0.0, ca.if_else(stops, -acceleration, acceleration)),
        )
