"""The period of a swing from the light behind the flag of a pendulum.

The flag passes twice in a period. The time of a pass is the centroid of the darkness, which noise and the ticks of the
timer disturb little. With a flag that is off the middle of the swing, passes are at

    t_j = t_0 + j T/2 + (-1)^j e

and T follows by least squares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array

_DARK = 0.5
#: frames between two passes at least, of a pass at least
_APART, _SHORTEST = 20, 3
#: frames beside a pass in its centroid, which holds the edges of the flag: a part of the pass, and at least
_MARGIN, _LEAST = 0.25, 3
#: fewest passes for a period with its deviation
FEWEST = 8


class Swing(NamedTuple):
    """A timed swing."""

    period: float  #: [s]
    deviation: float  #: [s], by the residuals
    times: Array  #: of each pass [s]
    middle: float  #: time of the first passage through the middle of the swing [s]
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
    times = np.array(_passes(t, light))
    n = len(times)
    if n < FEWEST:
        expected = f"a swing with {FEWEST} passes or more"
        raise InputError(f"the pendulum was not swinging, {n} passes of its flag", key="photodiode", expected=expected)
    j = np.arange(n)
    rows = np.column_stack((np.ones(n), j / 2, (-1.0) ** j))
    back = np.linalg.pinv(rows)
    fit = back @ times
    residual = times - rows @ fit
    variance = residual @ residual / (n - 3)
    deviation = float(np.sqrt(variance * (back @ back.T)[1, 1]))
    return Swing(float(fit[1]), deviation, times, float(fit[0]), residual)


def _passes(t: Array, light: Array) -> list[float]:
    """Centroid of the darkness of each pass that was seen as a whole."""
    dark = np.nonzero(light < _DARK)[0]
    times = []
    for run in np.split(dark, np.nonzero(np.diff(dark) > _APART)[0] + 1):
        margin = max(_LEAST, round(_MARGIN * len(run)))
        if len(run) < _SHORTEST or run[0] < margin or run[-1] + margin >= len(light):
            continue
        around = slice(run[0] - margin, run[-1] + margin + 1)
        weight = 1.0 - light[around]
        times.append(float(weight @ t[around] / weight.sum()))
    return times
