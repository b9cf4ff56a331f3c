"""Pose of a body from some of its targets: weighted least squares on the plane, and its covariance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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
    share = weight / weight.sum()
    place, point = share @ places, share @ points
    a, b = places - place, points - point
    # Rotation of least squares in the plane: angle of the sum of conj(a) b as complex numbers.
    along, across = (a * b).sum(axis=1) @ share, (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) @ share
    heading = float(np.arctan2(across, along))
    R = rotation(heading)
    position = point - R @ place
    residual = np.hypot(*(points - places @ R.T - position).T)
    # Information: sum of J^T J / sigma^2, with J = [1, R p turned by 90 degrees].
    arm = places @ R.T
    turned_x, turned_y = -arm[:, 1] @ weight, arm[:, 0] @ weight
    total, inertia = weight.sum(), (arm * arm).sum(axis=1) @ weight
    information = np.array([[total, 0.0, turned_x], [0.0, total, turned_y], [turned_x, turned_y, inertia]])
    return PoseFit(np.array([*position, heading]), np.linalg.inv(information), residual)


def rotation(heading: float) -> Array:
    """From the axes of a body to those of the table."""
    c, s = np.cos(heading), np.sin(heading)
    return np.array([[c, -s], [s, c]])


def placed(places: Array, pose: Array) -> Array:
    """Where the targets of a body with this pose are [m]."""
    return places @ rotation(float(pose[2])).T + pose[:2]
