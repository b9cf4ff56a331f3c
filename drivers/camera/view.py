"""A calibrated view of the plane of the targets: from a pixel through lens and homography to metres, and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from granite.config.devices.camera import Camera, ViewTable
from granite.config.records import Array

#: fixed-point steps of `undistort`: each divides the error by about the inverse of the distortion
_STEPS = 20
_SOLVED = 1e-12


class Lens(NamedTuple):
    """A pinhole with the distortion of Brown and Conrady, as OpenCV has it (k1, k2, p1, p2, k3)."""

    focal: float  #: [pixel]
    centre: tuple[float, float]  #: principal point [pixel]
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


@dataclass(frozen=True)
class PlaneView:
    """Lens, homography from directions to the plane [m], and the residual of their calibration [pixel]."""

    lens: Lens
    homography: Array
    size: tuple[int, int]  #: width, height [pixel]
    residual: float = 0.0

    def to_plane(self, pixel: Array) -> Array:
        """Points of the plane (n, 2) [m] at these pixels."""
        return mapped(self.homography, self.lens.to_direction(np.asarray(pixel, dtype=float)))

    def to_pixel(self, point: Array) -> Array:
        """Pixels (n, 2) of points of the plane [m]."""
        return self.lens.to_pixel(mapped(self._back, np.asarray(point, dtype=float)))

    def with_scale(self, pixel: Array) -> tuple[Array, Array]:
        """Points of the plane at these pixels, and metres per pixel there."""
        n, step = len(pixel), 0.5
        points = self.to_plane(np.vstack((pixel, pixel + np.array([step, 0.0]), pixel + np.array([0.0, step]))))
        along = points[n : 2 * n] - points[:n]
        across = points[2 * n :] - points[:n]
        area = np.abs(along[:, 0] * across[:, 1] - along[:, 1] * across[:, 0])
        return points[:n], np.sqrt(area) / step

    @cached_property
    def _back(self) -> Array:
        return inverse(self.homography)

    @cached_property
    def metres_per_pixel(self) -> float:
        """At the centre of the image."""
        width, height = self.size
        return float(self.with_scale(np.array([[width / 2, height / 2]]))[1][0])


def inverse(homography: Array) -> Array:
    """The homography back."""
    return np.asarray(np.linalg.inv(homography), dtype=float)


def mapped(homography: Array, points: Array) -> Array:
    """Points (n, 2) under a homography (3, 3)."""
    homogeneous = points @ homography[:, :2].T + homography[:, 2]
    return np.asarray(homogeneous[:, :2] / homogeneous[:, 2:])


def view_of(camera: Camera, table: ViewTable | None = None) -> PlaneView:
    """The calibrated view of a camera, or another one of the same image size."""
    table = table or camera.calibrated
    lens = Lens(table.focal_px, table.centre_px, table.distortion)
    return PlaneView(lens, np.array(table.homography).reshape(3, 3), camera.size_px, table.residual_px)
