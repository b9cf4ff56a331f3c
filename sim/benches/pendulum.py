"""A three-wire rotary pendulum with a flag in front of a photodiode (Stanford report, section 2.4).

A plate hangs on three wires of length L at radius R. Turned by an angle a it is higher by

    z(a) = L - sqrt(L^2 - 2 R^2 (1 - cos a))

so that I a'^2/2 + m z'^2/2 + m g z is constant; the period follows from this by a quadrature.
"""

from __future__ import annotations

from math import cos, pi, radians

import numpy as np

from granite.config.testbed import Testbed
from granite.mrds.height_map import GRAVITY

#: of the simulated pendulum: radius and length of the wires [m], mass [kg] and inertia [kg m2] of the plate
RADIUS_M, LENGTH_M, PLATE_KG, PLATE_KG_M2 = 0.2, 1.5, 1.2, 0.024
#: half the angle over which the flag darkens the photodiode, the angle over which its edge does so, and its distance
#: from the middle of the swing
_FLAG, _EDGE, _OFF_CENTRE = radians(0.2), radians(0.05), radians(0.05)
_POINTS = 200


class PendulumPlant:
    """A plate that swings, as large as somebody let it go; for a photodiode."""

    def __init__(self, bed: Testbed) -> None:
        self.bed = bed
        self.plate_mass = PLATE_KG
        self._amplitude = 0.0
        self._period = 1.0
        self._start = 0.0
        self._t = 0.0

    def advance(self, t: float) -> None:
        """Let time go on."""
        self._t = t

    def swing(self, mass: float, inertia: float, amplitude: float) -> None:
        """Put a body on the plate and let it go now at this angle [rad]; at zero it does not swing."""
        total = self.plate_mass + mass, PLATE_KG_M2 + inertia
        self._amplitude, self._start = amplitude, self._t
        self._period = period(*total, amplitude) if amplitude else 1.0

    def light(self, t: float) -> float:
        """1, or 0 while the flag is in front of the photodiode; between them at its edges."""
        angle = self._amplitude * cos(2 * pi * (t - self._start) / self._period)
        if not self._amplitude:
            return 1.0
        return min(max((abs(angle - _OFF_CENTRE) - _FLAG) / _EDGE + 0.5, 0.0), 1.0)


def period(mass: float, inertia: float, amplitude: float) -> float:
    """Period of a swing [s] with this mass [kg] and inertia [kg m2] on the wires.

    With a = A sin p, the time of a quarter is the integral of A cos p / a' over p from 0 to pi/2, which is smooth.
    """
    p = (np.arange(_POINTS) + 0.5) * (pi / 2) / _POINTS
    a = amplitude * np.sin(p)
    root = np.sqrt(LENGTH_M**2 - 2 * RADIUS_M**2 * (1 - np.cos(a)))
    top = np.sqrt(LENGTH_M**2 - 2 * RADIUS_M**2 * (1 - cos(amplitude)))
    slope = RADIUS_M**2 * np.sin(a) / root  # dz/da
    rate = np.sqrt(2 * mass * GRAVITY * (root - top) / (inertia + mass * slope**2))
    return float(4 * (amplitude * np.cos(p) / rate).sum() * (pi / 2) / _POINTS)
