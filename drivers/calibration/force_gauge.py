"""Cross-talk of a gauge of two force components: reading = C force + offset, from known loads by least squares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array

#: fewest loads: three numbers for each reading, and one more to judge the fit
_FEWEST = 4
#: loads whose directions differ by less than this determine no cross-talk
_SPREAD = 0.05


class CalibratedGauge(NamedTuple):
    """A calibrated gauge."""

    matrix: Array  #: C (2, 2) [reading per N]
    offset: Array  #: (2) reading without load
    deviation: Array  #: (2) of one reading, by the residuals of the fit

    def force(self, reading: Array) -> Array:
        """Force (..., 2) [N] of readings."""
        return np.asarray((reading - self.offset) @ np.linalg.inv(self.matrix).T)

    @property
    def force_deviation(self) -> Array:
        """One standard deviation of a measured force (2) [N]."""
        back = np.linalg.inv(self.matrix)
        return np.asarray(np.sqrt((back**2) @ self.deviation**2))


def calibrate_gauge(loads: Array, readings: Array) -> CalibratedGauge:
    """Fit matrix and offset.

    Parameters
    ----------
    loads
        Known forces (n, 2) [N].
    readings
        Of the gauge under each (n, 2).

    Raises
    ------
    InputError
        Where the loads do not determine the matrix.
    """
    if len(loads) < _FEWEST:
        raise InputError(f"{len(loads)} loads", key="force", expected=f"{_FEWEST} or more")
    spread = np.linalg.svd(loads - loads.mean(axis=0), compute_uv=False)
    if spread[1] <= _SPREAD * spread[0]:
        raise InputError("the loads do not determine the matrix", key="force", expected="loads in two directions")
    rows = np.column_stack((loads, np.ones(len(loads))))
    found, *_ = np.linalg.lstsq(rows, readings, rcond=None)
    residual = readings - rows @ found
    matrix, offset = np.array(found[:2].T, dtype=float), np.array(found[2], dtype=float)
    return CalibratedGauge(matrix, offset, np.sqrt((residual**2).sum(axis=0) / (len(loads) - 3)))
