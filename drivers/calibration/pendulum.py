"""Inertia by a three-wire rotary pendulum (Stanford report, section 2.4), calibrated by bodies of known inertia.

    I0 + I = k (m0 + m) T^2

for small swings, with the plate's mass m0 and inertia I0, and the body's m, I and period T. Ideally
k = g R^2/(4 pi^2 L) with wires of length L at radius R; two known bodies give k and I0, and absorb most of the effect
of the amplitude.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array

#: known bodies that differ by less than this part in m T^2 do not determine the pendulum
_ALIKE = 1e-3


class Pendulum(NamedTuple):
    """A calibrated pendulum."""

    plate_mass: float  #: m0 [kg]
    k: float  #: [m2/s2]
    plate_inertia: float  #: I0 [kg m2]
    covariance: Array  #: of k and I0 (2, 2)
    period_deviation: float  #: of a timed period [s]

    def inertia(self, mass: float, period: float) -> tuple[float, float]:
        """Inertia of a body and its standard deviation [kg m2].

        Parameters
        ----------
        mass
            Of the body [kg].
        period
            Of the swing with it [s].
        """
        swing = (self.plate_mass + mass) * period**2
        by_period = 2 * self.k * swing / period * self.period_deviation
        row = np.array([swing, -1.0])
        variance = float(row @ self.covariance @ row) + by_period**2
        return self.k * swing - self.plate_inertia, variance**0.5


def calibrate_pendulum(
    inertias: Array, masses: Array, periods: Array, plate_mass: float, period_deviation: float = 0.0
) -> Pendulum:
    """Fit k and I0 by least squares to two or more known bodies.

    Parameters
    ----------
    inertias, masses, periods
        Of each known body [kg m2, kg, s].
    plate_mass
        Of the empty plate [kg].
    period_deviation
        One standard deviation of a timed period [s].

    Raises
    ------
    InputError
        Where the known bodies are fewer than two, or swing alike.
    """
    swing = (plate_mass + masses) * periods**2
    if len(swing) < 2:
        raise InputError(f"{len(swing)} known bodies", key="pendulum", expected="two or more")
    if np.ptp(swing) < _ALIKE * swing.max():
        raise InputError("the known bodies swing alike", key="pendulum", expected="inertias that differ more")
    rows = np.column_stack((swing, -np.ones(len(swing))))
    (k, plate_inertia), *_ = np.linalg.lstsq(rows, inertias, rcond=None)
    noise = 2 * k * swing / periods * period_deviation
    back = np.linalg.pinv(rows)
    return Pendulum(plate_mass, float(k), float(plate_inertia), back @ np.diag(noise**2) @ back.T, period_deviation)
