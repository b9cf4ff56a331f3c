"""Inertia by a three-wire rotary pendulum (Stanford report, section 2.4), calibrated by bodies of known inertia.

    I0 + I = k (m0 + m) T^2

for small swings, with the plate's mass m0 and inertia I0, and the body's m, I and period T. Ideally
k = g R^2/(4 pi^2 L) with wires of length L at radius R; two or more known bodies, of which the empty plate may be one,
give k and I0. Errors of periods and of weighed masses are propagated; that of the plate's mass is common to all swings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array

#: known bodies that differ by less than this part in m T^2 do not determine the pendulum
_ALIKE = 1e-3


class SwungBody(NamedTuple):
    """A body on the plate, or the empty plate, which has neither mass nor inertia."""

    mass: float  #: [kg]
    inertia: float | None  #: [kg m2]; None: not known
    period: float  #: [s]
    deviation: float  #: of the period [s]


def fit_pendulum(bodies: Sequence[SwungBody], plate_mass: float, weighed: float = 0.0) -> tuple[Array, Array]:
    """The inertias that are not known, by generalised least squares together with k and I0.

    Parameters
    ----------
    bodies
        Known ones and others.
    plate_mass
        [kg].
    weighed
        One standard deviation of a weighed mass [kg].

    Returns
    -------
    tuple
        Inertia of each body that is not known (n) [kg m2], and their covariance (n, n).

    Raises
    ------
    InputError
        Where the known bodies are fewer than two, or swing alike.
    """
    is_known = np.array([body.inertia is not None for body in bodies])
    masses = np.array([body.mass for body in bodies])
    periods = np.array([body.period for body in bodies])
    deviations = np.array([body.deviation for body in bodies])
    inertias = np.array([body.inertia or 0.0 for body in bodies])
    total = plate_mass + masses
    swing = total * periods**2
    if is_known.sum() < 2:
        raise InputError(f"{is_known.sum()} known bodies", key="pendulum", expected="two or more")
    if np.ptp(swing[is_known]) < _ALIKE * swing[is_known].max():
        raise InputError("the known bodies swing alike", key="pendulum", expected="inertias that differ more")
    # k (m0 + m) T^2 - I0 - I = known inertia
    rows = np.column_stack((swing, -np.ones(len(bodies)), -np.eye(len(bodies))[:, ~is_known]))
    k = float(np.linalg.lstsq(rows, inertias, rcond=None)[0][0])
    by_mass = k * periods**2 * weighed
    noise = np.diag((2 * k * total * periods * deviations) ** 2 + np.where(masses > 0, by_mass, 0.0) ** 2)
    root = np.linalg.inv(np.linalg.cholesky(noise + np.outer(by_mass, by_mass)))
    values = np.linalg.pinv(root @ rows) @ (root @ inertias)
    covariance = np.linalg.inv(rows.T @ root.T @ root @ rows)
    return np.asarray(values[2:]), np.asarray(covariance[2:, 2:])
