"""The result of a calibration: numbers with their covariance, and what the fit leaves of the measurements."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import f as fisher

from granite.config.errors import InputError
from granite.config.records import Array

#: smallest singular value of a design over its largest, below which the measurements do not determine all numbers
_DETERMINED = 1e-6


class Fitted(NamedTuple):
    """The name of a number: its key in the testbed, and its unit."""

    key: str
    unit: str


class Residuals(NamedTuple):
    """What the fit leaves of one signal, over what it was measured at."""

    signal: str
    at: str  #: meaning and unit of the places
    places: Array  #: (n)
    values: Array  #: (n) measured less fitted
    unit: str


class CalibrationFit(NamedTuple):
    """Numbers that explain the measurements best."""

    numbers: tuple[Fitted, ...]
    values: Array  #: (k)
    covariance: Array  #: (k, k)
    freedom: int  #: measurements less numbers: how well the noise itself is known
    samples: int  #: number of measurements
    residuals: tuple[Residuals, ...]
    notes: tuple[str, ...] = ()  #: sentences for the operator

    @property
    def deviation(self) -> Array:
        """One standard deviation of each number (k)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def level(self, true: Array) -> float:
        """The confidence level of the ellipsoid on which the true numbers lie: uniform from 0 to 1 if all is well.

        The noise is estimated from the residuals, so that e' C^-1 e / k has the distribution F(k, freedom).
        """
        error, k = self.values - true, len(self.values)
        scale = np.where(self.deviation > 0, self.deviation, 1.0)
        whitened = np.linalg.solve(self.covariance / np.outer(scale, scale), error / scale)
        return float(fisher.cdf(error / scale @ whitened / k, k, self.freedom))


class LinearFit(NamedTuple):
    """Least squares of rows @ x = measured."""

    values: Array
    covariance: Array
    residual: Array
    freedom: int


def linear_fit(rows: Array, measured: Array, what: str, expected: str) -> LinearFit:
    """Least squares with the noise from the residuals.

    Raises
    ------
    InputError
        Where the rows do not determine the numbers: `what` is said of them, and what was `expected`.
    """
    n, k = rows.shape
    scale = np.abs(rows).max(axis=0, initial=0.0)
    if n <= k or not scale.all():
        raise InputError(what, expected=expected)
    singular = np.linalg.svd(rows / scale, compute_uv=False)
    if singular[-1] < _DETERMINED * singular[0]:
        raise InputError(what, expected=expected)
    back = np.linalg.pinv(rows / scale) / scale[:, None]
    values = back @ measured
    residual = measured - rows @ values
    return LinearFit(values, back @ back.T * (residual @ residual) / (n - k), residual, n - k)
