"""The lens: pinhole with the distortion of Brown and Conrady, as OpenCV has it (k1, k2, p1, p2, k3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.records import Array

#: fixed-point steps of `undistort`: each divides the error by about the inverse of the distortion
_STEPS = 20
_SOLVED = 1e-12


class Lens(NamedTuple):
    """Focal length [pixel], principal point [pixel], and distortion."""

    focal: float
    centre: tuple[float, float]
    distortion: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)  #: k1, k2, p1, p2, k3

    def to_pixel(self, direction: Array) -> Array:
        """Pixels (n, 2) of directions (n, 2): x/z and y/z in the camera's axes."""
        return distorted(direction, self.distortion) * self.focal + self.centre

    def to_direction(self, pixel: Array) -> Array:
        """Directions of pixels: the inverse of `to_pixel`."""
        return undistorted((pixel - self.centre) / self.focal, self.distortion)


def distorted(direction: Array, distortion: tuple[float, ...]) -> Array:
    """Where the lens shows a direction: radial factor and tangential shift."""
    factor, shift = _factor_and_shift(direction, distortion)
    return direction * factor[:, np.newaxis] + shift


def undistorted(seen: Array, distortion: tuple[float, ...]) -> Array:
    """The direction that the lens shows there, by fixed-point iteration."""
    if not any(distortion):
        return seen
    direction = seen
    for _ in range(_STEPS):
        factor, shift = _factor_and_shift(direction, distortion)
        better = (seen - shift) / factor[:, np.newaxis]
        change = np.abs(better - direction).max(initial=0.0)
        direction = better
        if change < _SOLVED:
            break
    return direction


def _factor_and_shift(direction: Array, distortion: tuple[float, ...]) -> tuple[Array, Array]:
    k1, k2, p1, p2, k3 = distortion
    x, y = direction[:, 0], direction[:, 1]
    r2 = x * x + y * y
    factor = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    shift = np.column_stack((2 * p1 * x * y + p2 * (r2 + 2 * x * x), p1 * (r2 + 2 * y * y) + 2 * p2 * x * y))
    return factor, shift
