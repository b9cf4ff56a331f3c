"""Which nozzle the command of each valve opens, from a planar free flight: found by the direction of its force.

The wrench of each command is fitted freely, three numbers each, and compared with the wrenches of all thrusters in the
file. A cable in the wrong socket shows as the wrench of another thruster: the permutation that explains all wrenches
best is the wiring, if it explains them much better than that of the file.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy.optimize import linear_sum_assignment

from granite.calibration.identification.flight import BaseInertia, FreeFlight
from granite.calibration.identification.motion_fit import fit_flight
from granite.config.records import Array

#: what is known before of a wrench, relative to the greatest thrust: nearly nothing
_RELATIVE = 2.0
#: a permutation is better than the wiring of the file where it explains the fitted wrenches by so much more: twice the
#: logarithm of a likelihood ratio
_BETTER = 10.0


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
    k = len(flight.thrust)
    expected = flight.matrix * flight.thrust
    spread = np.tile(_RELATIVE * np.abs(expected).max(axis=1), k)

    def meaning(own: ca.SX, firing: ca.SX) -> tuple[ca.SX, ca.SX]:
        return ca.SX(ca.DM(base.about_origin)), ca.reshape(own, 3, k) @ firing

    key = f"wiring {base} {k}"
    fit = fit_flight(flight, base.mass_kg, flight.openings, expected.T.ravel(), spread, meaning, key)
    costs = _distances(fit.numbers[: 3 * k].reshape(k, 3), fit.covariance[: 3 * k, : 3 * k], flight.matrix.T)
    _, nozzles = linear_sum_assignment(costs)
    is_swapped = nozzles != np.arange(k)
    gain = (np.diag(costs) - costs[np.arange(k), nozzles])[is_swapped].sum()
    return {int(i): int(nozzles[i]) for i in np.nonzero(is_swapped)[0]} if gain > _BETTER else {}


def rewired(flight: FreeFlight, swapped: dict[int, int]) -> FreeFlight:
    """The flight with the wrench of the nozzle that each command opens."""
    order = [swapped.get(i, i) for i in range(len(flight.thrust))]
    return flight._replace(matrix=flight.matrix[:, order], thrust=flight.thrust[order])


def _distances(wrenches: Array, covariance: Array, directions: Array) -> Array:
    """Square of the Mahalanobis distance of each fitted wrench (row) from each direction, with the thrust that fits."""
    squares = np.empty((len(wrenches), len(directions)))
    for i, wrench in enumerate(wrenches):
        information = np.linalg.inv(covariance[3 * i : 3 * i + 3, 3 * i : 3 * i + 3])
        for j, direction in enumerate(directions):
            thrust = max(direction @ information @ wrench / (direction @ information @ direction), 0.0)
            error = wrench - thrust * direction
            squares[i, j] = error @ information @ error
    return squares
