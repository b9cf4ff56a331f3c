"""Which nozzle the command of each valve opens, from a planar free flight: found by the direction of its force.

The wrench of each command is fitted freely, three numbers each, and compared with the wrenches of all thrusters in the
file. A cable in the wrong socket shows as the wrench of another thruster.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.calibration.identification.flight import BaseInertia, FreeFlight
from granite.calibration.identification.momentum import Numbers
from granite.calibration.identification.motion_fit import (
    START,
    TABLE,
    FittedMotion,
    fit_motion,
    refuse_little,
    start_of,
)
from granite.config.records import Array

#: what is known before of a wrench, relative to the greatest thrust: nearly nothing
_RELATIVE = 2.0
#: a direction is that of another thruster where its distance to it is below this part of the distance to its own
_NEARER = 0.3
#: largest deviation of a wrench that is judged, relative to itself
_KNOWN = 0.35


def swapped_valves(flight: FreeFlight, base: BaseInertia) -> dict[int, int]:
    """Of each command whose force is that of another thruster, the index of that thruster.

    Parameters
    ----------
    flight
        Openings, motion of the carried bodies and poses.
    base
        The numbers of the base, which count as exact.

    Raises
    ------
    InputError
        Where the flight has too few poses or firings, or no wrenches explain it.
    """
    refuse_little(flight, base.mass_kg)
    k = len(flight.thrust)
    expected = flight.matrix * flight.thrust
    start = np.concatenate((expected.T.ravel(), np.zeros(4), start_of(flight)))
    spread = _RELATIVE * np.abs(expected).max(axis=1)
    prior = np.array([*np.tile(spread, k), *TABLE, *START])

    def meaning(theta: ca.SX, firing: ca.SX) -> Numbers:
        wrenches, drag, slope, droop, begin = ca.vertsplit(theta, [0, *(3 * k + np.array([0, 1, 3, 4, 10])).tolist()])
        wrench = ca.reshape(wrenches, 3, k) @ firing
        return Numbers(ca.SX(ca.DM(base.about_origin)), drag, slope, droop, wrench, begin)

    motion = FittedMotion(flight, flight.openings, len(start), meaning, f"wiring {base} {k}")
    fit = fit_motion(motion, start, prior)
    fitted = fit.numbers[: 3 * k].reshape(k, 3) / spread
    deviation = np.sqrt(np.diag(fit.covariance)[: 3 * k]).reshape(k, 3) / spread
    is_known = np.linalg.norm(deviation, axis=1) < _KNOWN * np.linalg.norm(fitted, axis=1)
    distances = _distances(fitted, flight.matrix.T / spread)
    nearest = distances.argmin(axis=1)
    is_nearer = distances.min(axis=1) < _NEARER * np.diag(distances)
    is_swapped = is_known & (nearest != np.arange(k)) & is_nearer
    return {int(i): int(nearest[i]) for i in np.nonzero(is_swapped)[0]}


def rewired(flight: FreeFlight, swapped: dict[int, int]) -> FreeFlight:
    """The flight with the wrench of the nozzle that each command opens."""
    order = [swapped.get(i, i) for i in range(len(flight.thrust))]
    return flight._replace(matrix=flight.matrix[:, order], thrust=flight.thrust[order])


def _distances(wrenches: Array, directions: Array) -> Array:
    """Of the direction of each wrench to each of these."""
    of_wrenches = wrenches / np.linalg.norm(wrenches, axis=1, keepdims=True)
    others = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(np.linalg.norm(of_wrenches[:, None] - others[None], axis=2))
