"""Pose of a body from some of its targets: weighted least squares on the plane, and its covariance.

A body has a handful of targets: plain numbers are faster than arrays there.
"""

from __future__ import annotations

import cmath
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite.config.records import Array


class PoseFit(NamedTuple):
    """Pose (x [m], y [m], heading [rad]), its covariance, and the distance of each target from its place [m]."""

    pose: Array
    covariance: Array
    residual: Array


def fit_pose(positions: Array, points: Array, deviation: Array) -> PoseFit:
    """The pose that brings the places of targets on a body to where they were seen.

    Parameters
    ----------
    positions
        Of at least two targets, in the axes of the body (n, 2) [m].
    points
        Where these were seen (n, 2) [m].
    deviation
        One standard deviation of each point along each axis (n) [m].
    """
    p = as_complex(positions).tolist()
    z = as_complex(points).tolist()
    weight = [1.0 / (sigma * sigma) for sigma in deviation.tolist()]
    total = sum(weight)
    turn, position = _least_squares(p, z, [x / total for x in weight])
    arm = [turn * target for target in p]
    residual = [abs(point - position - x) for point, x in zip(z, arm, strict=True)]
    # Information [t 0 a; 0 t b; a b c], from J = [1, R p turned by 90 degrees] of each target, inverted in closed form.
    turned_arm = 1j * sum(w * x for w, x in zip(weight, arm, strict=True))
    a, b = turned_arm.real, turned_arm.imag
    inertia = sum(w * (x.real**2 + x.imag**2) for w, x in zip(weight, arm, strict=True))
    c = 1.0 / (inertia - (a * a + b * b) / total)  # variance of the heading
    m, n = -a / total, -b / total
    covariance = (
        (c * m * m + 1.0 / total, c * m * n, c * m),
        (c * m * n, c * n * n + 1.0 / total, c * n),
        (c * m, c * n, c),
    )
    pose = np.array([position.real, position.imag, cmath.phase(turn)])
    return PoseFit(pose, np.array(covariance), np.array(residual))


def rigid_residual(positions: list[complex], points: list[complex]) -> list[float]:
    """Distance of each target from its place under the pose that fits best, all with the same weight [m]."""
    turn, position = _least_squares(positions, points, [1.0 / len(positions)] * len(positions))
    return [abs(point - position - turn * target) for target, point in zip(positions, points, strict=True)]


def as_complex(points: Array) -> NDArray[np.complex128]:
    """Points of the plane (n, 2) as complex numbers, of which a rotation is a factor of length one."""
    return np.ascontiguousarray(points).view(np.complex128)[:, 0]


def _least_squares(p: list[complex], z: list[complex], share: list[float]) -> tuple[complex, complex]:
    """Rotation and position that bring p to z, weighted by shares whose sum is one."""
    p_mean = sum(s * x for s, x in zip(share, p, strict=True))
    z_mean = sum(s * x for s, x in zip(share, z, strict=True))
    turned = sum(
        s * ((target - p_mean).conjugate() * (point - z_mean)) for s, target, point in zip(share, p, z, strict=True)
    )
    turn = turned / abs(turned)
    return turn, z_mean - turn * p_mean


def rotation(heading: float) -> Array:
    """From the axes of a body to those of the table."""
    c, s = math.cos(heading), math.sin(heading)
    return np.array([[c, -s], [s, c]])


def placed(positions: Array, pose: Array) -> Array:
    """Where the targets of a body with this pose are (n, 2) [m]."""
    return as_placed(positions, pose).view(np.float64).reshape(-1, 2)


def as_placed(positions: Array, pose: Array) -> NDArray[np.complex128]:
    """The same as complex numbers (n)."""
    x, y, heading = pose.tolist()
    return as_complex(positions) * complex(math.cos(heading), math.sin(heading)) + complex(x, y)
