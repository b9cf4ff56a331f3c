"""Centroid of brightness of a grey-scale target, and its uncertainty (Stanford report, appendix A).

    S = sum w_i p_ij,   T = sum p_ij,   Z = S/T                                    (A.1)

with w_i = i - i0. Noise of variance s_ij^2 in every pixel gives sigma_s^2 = sum (i - i0)^2 s_ij^2 (A.4), and to first
order sigma_Z = sigma_s / mu_t. What is left of the background pulls Z towards the centre of the window, and the noise
of far pixels counts most: so the background is subtracted, and the sum goes over a tight round aperture.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from granite.config.records import Array

#: aperture beyond the radius of the target [pixel]: a pixel further out has no light of it
MARGIN_PX = 1.0
#: variance of rounding to whole counts
_ROUNDING = 1 / 12
#: rms of a pixel's bias of the noise-free centroid [pixel]
_PIXEL_BIAS = 5e-4
#: standard deviation of a normal distribution over its median absolute deviation
_NORMAL_MAD = 1.4826
#: second moment of a cone along one axis, over its radius squared
_CONE = 0.15


class Blob(NamedTuple):
    """A bright spot: its centroid with one standard deviation, and its size."""

    x: float  #: [pixel]
    y: float
    deviation: float  #: of x and of y [pixel]
    total: float  #: light above the background [counts]
    radius: float  #: of a cone with the same second moment [pixel]


def level(pixels: NDArray[np.number]) -> tuple[float, float]:
    """Background and noise of pixels most of which show no target: median, then the mean and deviation around it."""
    values = pixels.ravel()
    ordered = np.sort(values)
    middle = float(ordered[len(ordered) // 2])
    # Half a count more, because the median of whole counts is a whole one, and would cut off the tails.
    spread = _NORMAL_MAD * (0.5 + float(np.sort(np.abs(values - middle))[len(values) // 2]))
    low, high = np.searchsorted(ordered, (middle - 3 * spread, middle + 3 * spread))
    kept = ordered[low:high]
    return float(kept.mean()), max(float(kept.std()), _ROUNDING**0.5)


def measure(
    window: Array, x: float, y: float, radius: float, background: float, noise: float, counts_per_electron: float = 0.0
) -> Blob | None:
    """The blob of about `radius` at about (x, y) of a window; None where there is no light, or too near to the edge.

    Parameters
    ----------
    window
        Grey values (rows, columns).
    x, y
        Column and row of the first guess [pixel].
    radius
        Of the target [pixel].
    background, noise
        Of the pixels around the target: mean, and one standard deviation [counts].
    counts_per_electron
        Photon noise: variance in counts squared for each count of light; 0: none.
    """
    reach = radius + MARGIN_PX
    rows, columns = window.shape
    first_row, last_row = round(y - reach), round(y + reach) + 1
    first_column, last_column = round(x - reach), round(x + reach) + 1
    if first_row < 0 or first_column < 0 or last_row > rows or last_column > columns:
        return None
    dy = np.arange(first_row, last_row)[:, np.newaxis] - y
    dx = np.arange(first_column, last_column) - x
    squared = dx * dx + dy * dy
    inside = squared <= reach * reach
    light = np.where(inside, window[first_row:last_row, first_column:last_column] - background, 0.0)
    total = float(light.sum())
    if total <= 0:
        return None
    offset_x, offset_y = float((light * dx).sum()) / total, float((light * dy).sum()) / total
    moment = max(0.0, float((light * squared).sum()) / total - offset_x**2 - offset_y**2) / 2
    variance = noise * noise * inside + counts_per_electron * np.maximum(light, 0.0)
    # Mean of the two axes: (i - i0)^2 of one is half of the squared distance.
    sigma = (0.5 * float((variance * squared).sum())) ** 0.5 / total
    return Blob(x + offset_x, y + offset_y, (sigma**2 + _PIXEL_BIAS**2) ** 0.5, total, (moment / _CONE) ** 0.5)


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
