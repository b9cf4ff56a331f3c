"""Pose of a body from some of its targets: weighted least squares on the plane, and its covariance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite.config.records import Array


class PoseFit(NamedTuple):
    """Pose (x [m], y [m], heading [rad]), its covariance, and the distance of each target from its place [m]."""

    pose: Array
    covariance: Array
    residual: Array


def fit_pose(places: Array, points: Array, deviation: Array) -> PoseFit:
    """The pose that brings the places of targets on a body to where they were seen.

    Parameters
    ----------
    places
        Of at least two targets, in the axes of the body (n, 2) [m].
    points
        Where these were seen (n, 2) [m].
    deviation
        One standard deviation of each point along each axis (n) [m].
    """
    weight = 1.0 / deviation**2
    total = weight.sum()
    p, z = as_complex(places), as_complex(points)
    turn, position = _least_squares(p, z, weight / total)
    arm = turn * p
    residual = np.abs(z - position - arm)
    # Information [t 0 a; 0 t b; a b c], from J = [1, R p turned by 90 degrees] of each target, inverted in closed form.
    turned_arm = 1j * (weight @ arm)
    a, b = turned_arm.real, turned_arm.imag
    inertia = weight @ (arm.real**2 + arm.imag**2)
    heading_variance = 1.0 / (inertia - (a * a + b * b) / total)
    gain = np.array([-a / total, -b / total, 1.0])
    covariance = heading_variance * np.outer(gain, gain)
    covariance[0, 0] += 1.0 / total
    covariance[1, 1] += 1.0 / total
    pose = np.array([position.real, position.imag, np.angle(turn)])
    return PoseFit(pose, covariance, residual)


def rigid_residual(places: Array, points: Array) -> Array:
    """Distance of each target from its place under the pose that fits best, all with the same weight (n) [m]."""
    p, z = as_complex(places), as_complex(points)
    turn, position = _least_squares(p, z, np.full(len(p), 1.0 / len(p)))
    return np.abs(z - position - turn * p)


def as_complex(points: Array) -> NDArray[np.complex128]:
    """Points of the plane (n, 2) as complex numbers, of which a rotation is a factor of length one."""
    return np.ascontiguousarray(points).view(np.complex128)[:, 0]


def _least_squares(p: NDArray[np.complex128], z: NDArray[np.complex128], share: Array) -> tuple[complex, complex]:
    """Rotation and position that bring p to z, weighted by shares whose sum is one."""
    p_mean, z_mean = share @ p, share @ z
    turned = share @ ((p - p_mean).conj() * (z - z_mean))
    turn = complex(turned / abs(turned))
    return turn, complex(z_mean - turn * p_mean)


def rotation(heading: float) -> Array:
    """From the axes of a body to those of the table."""
    c, s = np.cos(heading), np.sin(heading)
    return np.array([[c, -s], [s, c]])


def placed(places: Array, pose: Array) -> Array:
    """Where the targets of a body with this pose are [m]."""
    return places @ rotation(float(pose[2])).T + pose[:2]
