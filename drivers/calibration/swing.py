"""The period of a swing from the light behind the flag of a pendulum.

The flag passes twice in a period. The middles of the passes, with a flag that is off the middle of the swing, are at

    t_j = t_0 + j T/2 + (-1)^j e

and T follows by least squares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array

_DARK = 0.5
#: fewest passes for a period with its deviation
FEWEST = 8


class Swing(NamedTuple):
    """A timed swing."""

    period: float  #: [s]
    deviation: float  #: [s], by the residuals
    passes: Array  #: number of each pass
    residual: Array  #: of each pass [s]


def timed_swing(t: Array, light: Array) -> Swing:
    """The period of a swing.

    Parameters
    ----------
    t, light
        Times [s], and light as a part of the full light (n).

    Raises
    ------
    InputError
        Where it was not swinging, or not long enough.
    """
    dark = light < _DARK
    edges = np.diff(dark.astype(int))
    # An edge is between two frames, on average in the middle.
    middle = (t[1:] + t[:-1]) / 2
    falls, rises = middle[edges > 0], middle[edges < 0]
    rises = rises[rises > falls[0]] if len(falls) else rises[:0]
    n = min(len(falls), len(rises))
    if n < FEWEST:
        expected = f"a swing with {FEWEST} passes or more"
        raise InputError(f"the pendulum was not swinging, {n} passes of its flag", key="photodiode", expected=expected)
    times, j = (falls[:n] + rises[:n]) / 2, np.arange(n)
    rows = np.column_stack((np.ones(n), j / 2, (-1.0) ** j))
    back = np.linalg.pinv(rows)
    found = back @ times
    residual = times - rows @ found
    variance = residual @ residual / (n - 3)
    return Swing(float(found[1]), float(np.sqrt(variance * (back @ back.T)[1, 1])), j.astype(float), residual)
