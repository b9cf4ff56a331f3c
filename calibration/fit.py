"""The result of a calibration: numbers with their covariance, and what the fit leaves of the measurements."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import f as fisher

from granite.config.errors import InputError
from granite.config.records import Array

#: smallest singular value of a design over its largest, below which the measurements do not determine all numbers
_DETERMINED = 1e-6
#: iterations of Gauss and Newton, halvings of a step, and the step in standard deviations after which it ends; so do
#: two steps that take less than the last part of the noise's variance from the sum of squares: a model may have kinks
_ITERATIONS, _HALVINGS, _SMALL, _LITTLE = 60, 12, 1e-3, 1e-2


#: of the expanded uncertainty: all numbers of a calibration are within it with this probability
COVERAGE = 0.99


class FittedKey(NamedTuple):
    """The name of a number: its key in the testbed, and its unit."""

    key: str
    unit: str
    least: float = -np.inf  #: what a testbed takes; noise may take a number below it


class Residuals(NamedTuple):
    """What the fit leaves of one signal."""

    signal: str
    x_label: str  #: meaning and unit of x
    x: Array  #: (n) what it was measured at
    values: Array  #: (n) measured less fitted
    unit: str


class ResidualMap(NamedTuple):
    """What the fit leaves of points of an image."""

    unit: str
    pixels: Array  #: columns and rows (n, 2) [pixel]
    values: Array  #: seen less fitted (n, 2)
    size: tuple[int, int]  #: width and height of the image [pixel]


class CalibrationFit(NamedTuple):
    """Numbers that explain the measurements best."""

    numbers: tuple[FittedKey, ...]
    values: Array  #: (k)
    covariance: Array  #: (k, k)
    freedom: int  #: measurements less numbers: how well the noise itself is known
    samples: int  #: number of measurements
    residuals: tuple[Residuals | ResidualMap, ...]
    notes: tuple[str, ...] = ()  #: sentences for the operator
    kept: tuple[tuple[FittedKey, float], ...] = ()  #: numbers that belong to these and were not fitted

    @property
    def deviation(self) -> Array:
        """One standard deviation of each number (k)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def expanded(self) -> Array:
        """Expanded uncertainty of each number (k): half the size of the ellipsoid that contains all with `COVERAGE`.

        e' C^-1 e < k F(COVERAGE; k, freedom) reaches the root of the right side times the deviation along each axis.
        """
        k = len(self.values)
        return np.asarray(self.deviation * np.sqrt(k * fisher.ppf(COVERAGE, k, self.freedom)))

    def level(self, true: Array) -> float:
        """The confidence level of the ellipsoid on which the true numbers lie: uniform from 0 to 1 if all is well.

        The noise is estimated from the residuals, so that e' C^-1 e / k has the distribution F(k, freedom).
        """
        k = len(self.values)
        return float(fisher.cdf(self.distance(true) / k, k, self.freedom))

    def distance(self, true: Array) -> float:
        """Square of the normalised error, e' C^-1 e."""
        scale = np.where(self.deviation > 0, self.deviation, 1.0)
        error = (self.values - true) / scale
        return float(error @ np.linalg.solve(self.covariance / np.outer(scale, scale), error))


class LeastSquares(NamedTuple):
    """Numbers by least squares, with the noise from the residuals."""

    values: Array
    covariance: Array
    residual: Array
    freedom: int


def linear_fit(rows: Array, measured: Array, what: str, expected: str) -> LeastSquares:
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
    Q, R = np.linalg.qr(rows / scale)
    singular = np.linalg.svd(R, compute_uv=False)
    if singular[-1] < _DETERMINED * singular[0]:
        raise InputError(what, expected=expected)
    back = np.linalg.inv(R) / scale[:, None]
    values = back @ (Q.T @ measured)
    residual = measured - rows @ values
    return LeastSquares(values, back @ back.T * (residual @ residual) / (n - k), residual, n - k)


def gauss_newton(
    compare: Callable[[Array], tuple[Array, Array]], start: Array, what: str, expected: str
) -> LeastSquares:
    """Least squares of a model that is not linear, with steps that are halved until they help.

    Parameters
    ----------
    compare
        Of numbers (k): measured less fitted (n), and the derivatives of what is fitted (n, k).
    start
        The first numbers.
    what, expected
        As of `linear_fit`.

    Raises
    ------
    InputError
        Where the measurements do not determine the numbers, or no numbers explain them.
    """
    x, little = start, 0
    residual, rows = compare(x)
    for _ in range(_ITERATIONS):
        change = linear_fit(rows, residual, what, expected)
        step, size = change.values, float(residual @ residual)
        for _ in range(_HALVINGS):
            tried, by = compare(x + step)
            if tried @ tried <= size:
                break
            step = step / 2
        else:
            tried, by, step = residual, rows, np.zeros_like(x)  # rounding: it does not get better
        x = x + step
        little = little + 1 if size - tried @ tried < _LITTLE * size / change.freedom else 0
        residual = tried
        rows = by
        if little > 1 or np.all(np.abs(step) < _SMALL * np.sqrt(np.diag(change.covariance))):
            return LeastSquares(x, change.covariance, residual, change.freedom)
    raise InputError("no numbers explain the measurements", expected=expected)
