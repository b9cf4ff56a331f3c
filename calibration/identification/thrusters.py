"""Thrust of each thruster and delay of their valves, from a planar free flight of a base of known mass and inertia."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.calibration.identification.flight import BaseInertia, FreeFlight
from granite.calibration.identification.motion_fit import Fit, fit_flight
from granite.config.records import Array

#: what is known before: one standard deviation of a thrust relative to the file's, and of the delay [s]
_RELATIVE, _DELAY = 1.0, 0.01
#: a thrust below this part of the file's is that of a dead valve, if it is known as well as this
_DEAD, _KNOWN = 0.2, 0.1


class IdentifiedThrusters(NamedTuple):
    """The thrusts that explain a flight best."""

    thrust_n: Array  #: (k) with a full tank
    deviation: Array  #: (k)
    later_s: float  #: by which the valves act later than the file says
    later_deviation: float
    fit: Fit

    def dead(self, expected: Array) -> list[int]:
        """The thrusters that give no thrust, by their indices, where the file expects some."""
        is_dead = (self.thrust_n < _DEAD * expected) & (self.deviation < _KNOWN * expected)
        return [int(i) for i in np.nonzero(is_dead)[0]]

    def unknown(self, expected: Array) -> list[int]:
        """The thrusters that fired too little in this flight."""
        return [int(i) for i in np.nonzero(self.deviation >= _KNOWN * np.maximum(expected, 1e-9))[0]]


def identify_thrusters(flight: FreeFlight, base: BaseInertia) -> IdentifiedThrusters:
    """Fit the thrusts to a flight.

    Parameters
    ----------
    flight
        Openings, motion of the carried bodies and poses.
    base
        The numbers of the base, which count as exact.

    Raises
    ------
    InputError
        Where the flight has too few poses or firings, or no thrusts explain it.
    """
    k = len(flight.thrust)
    first, firings = np.array([*flight.thrust, 0.0]), np.hstack((flight.openings, flight.later))
    spread = np.array([*(_RELATIVE * np.maximum(flight.thrust, flight.thrust.max())), _DELAY])

    def meaning(own: ca.SX, firing: ca.SX) -> tuple[ca.SX, ca.SX]:
        opening = firing[:k] + own[k] * firing[k:]
        return ca.SX(ca.DM(base.about_origin)), ca.DM(flight.matrix) @ (own[:k] * opening)

    key = f"thrusters {base} {flight.matrix.tolist()}"
    fit = fit_flight(flight, base.mass_kg, firings, first, spread, meaning, key)
    deviation = np.sqrt(np.diag(fit.covariance))
    return IdentifiedThrusters(fit.numbers[:k], deviation[:k], float(fit.numbers[k]), float(deviation[k]), fit)
