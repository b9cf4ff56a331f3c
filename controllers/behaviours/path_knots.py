"""From the columns of a path to its knots.

Rates that are not given are those of the cubic spline through the positions, at rest at both ends; accelerations that
are not given are those of the spline through the rates.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from granite.config.errors import InputError, one_of
from granite.config.layout import Layout
from granite.config.records import Array
from granite.controllers.behaviours.path_samples import Samples
from granite.controllers.trajectories.sampled import SampledPath

#: a given rate may differ by this part from the change of its positions, as a mean (root of squares)
_RATE_MISMATCH = 0.2
#: a path may end with this rate [m/s, rad/s]
_AT_REST = 1e-3


def path_of(samples: Samples, layout: Layout, start: Array) -> tuple[SampledPath, Array]:
    """The path of all coordinates from the first sample on, and which coordinates are not given: these stay at `start`.

    Raises
    ------
    InputError
        Where a column is unknown, lacks another one, or contradicts it; without key and value.
    """
    from scipy.interpolate import CubicSpline  # slow to import; only paths need it

    positions, rates = [c.key for c in layout.positions], [c.key for c in layout.velocities]
    accelerations = [f"{key}2" for key in rates]
    given = {column.key: np.array(column.values) for column in samples.columns[1:]}
    for key in given:
        if key not in (known := [*positions, *rates, *accelerations]):
            raise InputError(f"unknown column '{key}'", expected=one_of(key, known))
    times = np.array(samples.columns[0].values)
    times -= times[0]
    motions = np.zeros((len(times), 3, len(positions)))
    motions[:, 0] = start
    for i, keys in enumerate(zip(positions, rates, accelerations, strict=True)):
        for needed, key in pairwise(keys):
            if key in given and needed not in given:
                raise InputError(f"a column '{key}' without '{needed}'", expected="both")
        q, u, a = (given.get(key) for key in keys)
        if q is None:
            continue
        if u is None:
            spline = CubicSpline(times, q, bc_type="clamped")
            u, a = spline(times, 1), spline(times, 2)
        else:
            a = CubicSpline(times, u)(times, 1) if a is None else a
            _refuse_rate(keys[1], times, q, u, a)
        motions[:, 0, i], motions[:, 1, i], motions[:, 2, i] = q, u, a
    return SampledPath(times, motions), np.array([key not in given for key in positions])


def _refuse_rate(key: str, times: Array, q: Array, u: Array, a: Array) -> None:
    """Refuse rates that are not those of the positions, and a path that ends in motion."""
    h, change = np.diff(times), np.diff(q)
    # trapezoidal rule with end correction
    integral = h * (u[1:] + u[:-1]) / 2 - h**2 * (a[1:] - a[:-1]) / 12
    mismatch, size = np.sqrt(np.mean((change - integral) ** 2)), np.sqrt(np.mean(change**2) + np.mean(integral**2))
    if mismatch > _RATE_MISMATCH * size + 1e-12:
        worst = int(np.abs(change - integral).argmax())
        problem = f"column '{key}' is not the rate of its position: between {times[worst]:g} and {times[worst + 1]:g} s"
        raise InputError(f"{problem} it gives a change of {integral[worst]:g}", expected=f"{change[worst]:g}")
    if abs(u[-1]) > _AT_REST:
        raise InputError(f"column '{key}': {u[-1]:g} in the last row", expected="0, because the path ends there")
