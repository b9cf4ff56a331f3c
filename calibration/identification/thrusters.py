"""Thrust of each thruster and delay of their valves, from a planar free flight of a base of known mass and inertia."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.calibration.identification.flight import BaseInertia, FreeFlight
from granite.calibration.identification.momentum import Numbers
from granite.calibration.identification.motion_fit import (
    START,
    TABLE,
    Fit,
    FittedMotion,
    fit_motion,
    refuse_little,
    start_of,
)
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
    refuse_little(flight, base.mass_kg)
    k = len(flight.thrust)
    start = np.concatenate((flight.thrust, np.zeros(5), start_of(flight)))
    prior = np.array([*(_RELATIVE * np.maximum(flight.thrust, flight.thrust.max())), _DELAY, *TABLE, *START])

    def meaning(theta: ca.SX, firing: ca.SX) -> Numbers:
        thrust, later, drag, slope, droop, begin = ca.vertsplit(theta, [0, k, k + 1, k + 2, k + 4, k + 5, k + 11])
        opening = firing[:k] + later * firing[k:]
        wrench = ca.DM(flight.matrix) @ (thrust * opening)
        return Numbers(ca.SX(ca.DM(base.about_origin)), drag, slope, droop, wrench, begin)

    key = f"thrusters {base} {flight.matrix.tolist()}"
    motion = FittedMotion(flight, np.hstack((flight.openings, flight.later)), len(start), meaning, key)
    fit = fit_motion(motion, start, prior)
    deviation = np.sqrt(np.diag(fit.covariance))
    return IdentifiedThrusters(fit.numbers[:k], deviation[:k], float(fit.numbers[k]), float(deviation[k]), fit)
