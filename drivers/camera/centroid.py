"""Centroid of brightness of a grey-scale target, and its uncertainty (Stanford report, appendix A).

    S = sum w_i p_ij,   T = sum p_ij,   Z = S/T                                    (A.1)

with w_i = i - i0. Noise of variance s_ij^2 in every pixel gives sigma_s^2 = sum (i - i0)^2 s_ij^2 (A.4), and to first
order sigma_Z = sigma_s / mu_t. What is left of the background pulls Z towards the centre of the window, and the noise
of far pixels counts most: so the background is subtracted, and the sum goes over a tight round aperture.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from granite.config.records import Array

Pixels = NDArray[np.uint8]

#: aperture beyond the radius of the target [pixel]: a pixel further out has no light of it
MARGIN_PX = 1.0
#: variance of rounding to whole counts
_ROUNDING = 1 / 12
#: rms of a pixel's bias of the noise-free centroid [pixel]
_PIXEL_BIAS = 5e-4
#: part of a normal distribution below its mean less one deviation
_BELOW = 0.1587
#: second moment of a cone along one axis, over its radius squared
_CONE = 0.15


class Blob(NamedTuple):
    """A bright spot: its centroid with one standard deviation, and its size."""

    x: float  #: [pixel]
    y: float
    deviation: float  #: of x and of y [pixel]
    total: float  #: light above the background [counts]
    radius: float  #: of a cone with the same second moment [pixel]


def levels(windows: Pixels) -> tuple[Array, Array]:
    """Background and noise of windows (n, rows, columns) most of whose pixels show no target (n), (n).

    The darker pixels have no light of a target: median and the quantile of one deviation below it come first, then mean
    and deviation of the pixels around them.
    """
    n = len(windows)
    flat = windows.reshape(n, -1)
    size = flat.shape[1]
    ordered = np.sort(flat, axis=1, kind="stable")  # of bytes: a radix sort
    middle = ordered[:, size // 2].astype(float)
    # Half a count more, because quantiles of whole counts are whole ones, and would cut off the tails.
    spread = middle - ordered[:, int(_BELOW * size)] + 0.5
    low, high = middle - 3 * spread, middle + 3 * spread
    kept = (ordered >= low[:, np.newaxis]) & (ordered <= high[:, np.newaxis])
    count = kept.sum(axis=1)
    values = ordered * kept
    mean = values.sum(axis=1) / count
    squares = np.einsum("ij,ij->i", values, values, dtype=float) / count
    return mean, np.sqrt(np.maximum(squares - mean * mean, _ROUNDING))


def measure(
    windows: NDArray[Any],
    guess: Array,
    radius: Array,
    background: Array,
    noise: Array,
    counts_per_electron: float = 0.0,
) -> Array:
    """Centroids of spots of about `radius` at about a guess, one in each window.

    Parameters
    ----------
    windows
        Grey values (n, rows, columns).
    guess
        Column and row in the window (n, 2) [pixel].
    radius
        Of the targets (n) [pixel].
    background, noise
        Of the pixels around each target: mean, and one standard deviation (n) [counts].
    counts_per_electron
        Photon noise: variance in counts squared for each count of light; 0: none.

    Returns
    -------
    Array
        The numbers of a `Blob` in each row (n, 5); NaN without light, and where the aperture is cut off by the window.
    """
    n, rows, columns = windows.shape
    reach = radius + MARGIN_PX
    half = int(np.ceil(reach.max())) + 1
    side = np.arange(-half, half + 1)
    centre = np.rint(guess).astype(int)
    # Cut off: the aperture, which may be smaller than its square, leaves the window.
    beyond = reach[:, np.newaxis] - 0.5
    whole = ((guess >= beyond) & (guess <= np.array([columns, rows]) - 1 - beyond)).all(axis=1)
    nearby = centre[:, :, np.newaxis] + side
    across, down = (np.minimum(np.maximum(nearby[:, k], 0), size - 1) for k, size in enumerate((columns, rows)))
    square = windows[np.arange(n)[:, np.newaxis, np.newaxis], down[:, :, np.newaxis], across[:, np.newaxis]]
    above = square - background[:, np.newaxis, np.newaxis]
    x, y = (guess - centre).T
    for _ in range(2):  # once more about the centroid itself: the guess was made of the brightest pixels only
        dx, dy = side - x[:, np.newaxis], side - y[:, np.newaxis]
        squared = (dx * dx)[:, np.newaxis] + (dy * dy)[:, :, np.newaxis]
        inside = squared <= (reach * reach)[:, np.newaxis, np.newaxis]
        light = above * inside
        down_sum, across_sum = light.sum(axis=2), light.sum(axis=1)
        total = down_sum.sum(axis=1)
        lit = np.where(total > 0, total, np.nan)
        shift_x, shift_y = (across_sum * dx).sum(axis=1) / lit, (down_sum * dy).sum(axis=1) / lit
        x, y = x + shift_x, y + shift_y
    moment = (light * squared).sum(axis=(1, 2)) / lit - shift_x**2 - shift_y**2
    # Mean of the two axes: (i - i0)^2 of one is half of the squared distance.
    variance = noise**2 * (inside * squared).sum(axis=(1, 2)) / 2
    if counts_per_electron:
        variance += counts_per_electron * (np.maximum(light, 0.0) * squared).sum(axis=(1, 2)) / 2
    deviation = np.sqrt(variance / lit**2 + _PIXEL_BIAS**2)
    radii = np.sqrt(np.maximum(moment, 0.0) / (2 * _CONE))
    found = np.array([centre[:, 0] + x, centre[:, 1] + y, deviation, total, radii]).T
    found[~whole] = np.nan
    return found


def ratio_density(z: Array, mu_s: float, sigma_s: float, mu_t: float, sigma_t: float) -> Array:
    """Probability density of Z = S/T of two independent normal variables (A.14).

    The exponent is -(mu_s - z mu_t)^2 / (2 (sigma_s^2 + z^2 sigma_t^2)); the report prints it with another sign
    and denominator, and the error function with an infinite limit.
    """
    s2, t2 = sigma_s**2, sigma_t**2
    A = (s2 + z * z * t2) / (2 * s2 * t2)  # (A.10)
    B = (mu_t * s2 + z * mu_s * t2) / (s2 * t2)  # (A.11)
    C = (mu_t**2 * s2 + mu_s**2 * t2) / (2 * s2 * t2)  # (A.12)
    K = 1 / (2 * np.pi * sigma_t * sigma_s)  # (A.13)
    exponent = -((mu_s - z * mu_t) ** 2) / (2 * (s2 + z * z * t2))
    bell = B / (2 * A) * np.sqrt(np.pi / A) * np.exp(exponent) * erf(B / (2 * np.sqrt(A)))
    return np.asarray(K * (np.exp(-C) / A + bell))
