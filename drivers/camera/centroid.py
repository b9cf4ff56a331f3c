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
from granite.drivers.camera.spot_kernel import spot_kernel
from granite.drivers.camera.thresholds import BELOW, CONE, MARGIN_PX, PIXEL_BIAS, ROUNDING

Pixels = NDArray[np.uint8]


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
    spread = middle - ordered[:, int(BELOW * size)] + 0.5
    low, high = middle - 3 * spread, middle + 3 * spread
    kept = (ordered >= low[:, np.newaxis]) & (ordered <= high[:, np.newaxis])
    count = kept.sum(axis=1)
    values = ordered * kept
    mean = values.sum(axis=1) / count
    squares = np.einsum("ij,ij->i", values, values, dtype=float) / count
    return mean, np.sqrt(np.maximum(squares - mean * mean, ROUNDING))


def measure(
    windows: NDArray[Any],
    guess: Array,
    radius: Array,
    background: Array,
    noise: Array,
    counts_per_electron: float = 0.0,
) -> Array:
    """Centroids of spots of about `radius` at about a guess, one in each window; compiled where there is a compiler.

    Sums go over grey values and whole places, and the background is subtracted from the sums.

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
    half = half_square(radius)
    if windows.dtype == np.uint8 and (kernel := spot_kernel()) is not None:
        return kernel.measure(windows, guess, radius, half, background, noise, counts_per_electron)
    n, rows, columns = windows.shape
    reach = radius + MARGIN_PX
    side = np.arange(-half, half + 1)
    centre = np.rint(guess).astype(int)
    # Cut off: the aperture, which may be smaller than its square, leaves the window.
    beyond = reach[:, np.newaxis] - 0.5
    whole = ((guess >= beyond) & (guess <= np.array([columns, rows]) - 1 - beyond)).all(axis=1)
    nearby = centre[:, :, np.newaxis] + side
    across = np.minimum(np.maximum(nearby[:, 0], 0), columns - 1)
    down = np.minimum(np.maximum(nearby[:, 1], 0), rows - 1)
    square = windows[np.arange(n)[:, np.newaxis, np.newaxis], down[:, :, np.newaxis], across[:, np.newaxis]]
    grey = square.reshape(n, -1).astype(float)
    j, i = (part.ravel().astype(float) for part in np.meshgrid(side, side, indexing="ij"))
    basis = np.array([np.ones(len(i)), i, j, i * i + j * j]).T  # whole numbers: their sums are exact in any order
    x, y = (guess - centre).T
    old_x, old_y = x, y
    for _ in range(2):  # once more about the centroid itself: the guess was made of the brightest pixels only
        dx, dy = i - x[:, np.newaxis], j - y[:, np.newaxis]
        inside = (dx * dx + dy * dy <= (reach * reach)[:, np.newaxis]).astype(float)
        n_in, i_in, j_in, q_in = (inside @ basis).T
        p_in, pi_in, pj_in, pq_in = ((inside * grey) @ basis).T
        total = p_in - background * n_in
        lit = np.where(total > 0, total, np.nan)
        old_x, old_y = x, y
        x = (pi_in - background * i_in) / lit
        y = (pj_in - background * j_in) / lit
    about = old_x * old_x + old_y * old_y
    moment = (pq_in - background * q_in) / lit - x * x - y * y
    # Mean of the two axes: (i - i0)^2 of one is half of the squared distance, here from the centre of the aperture.
    spread = q_in - 2 * old_x * i_in - 2 * old_y * j_in + about * n_in
    variance = noise * noise * spread / 2
    if counts_per_electron:
        bright = inside * (grey > background[:, np.newaxis])
        n_b, i_b, j_b, q_b = (bright @ basis).T
        p_b, pi_b, pj_b, pq_b = ((bright * grey) @ basis).T
        photons = (
            pq_b
            - background * q_b
            - 2 * old_x * (pi_b - background * i_b)
            - 2 * old_y * (pj_b - background * j_b)
            + about * (p_b - background * n_b)
        )
        variance = variance + counts_per_electron * photons / 2
    deviation = np.sqrt(variance / (lit * lit) + PIXEL_BIAS * PIXEL_BIAS)
    radii = np.sqrt(np.maximum(moment, 0.0) / (2 * CONE))
    blobs = np.array([centre[:, 0] + x, centre[:, 1] + y, deviation, total, radii]).T
    blobs[~whole] = np.nan
    return blobs


def half_square(radius: Array) -> int:
    """Half the side of the square in which the aperture of the largest target lies, about its whole pixel."""
    return int(np.ceil(radius.max() + MARGIN_PX)) + 1


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
