"""Rotation matrices, from roll, pitch, yaw and back, and about an axis."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Triple = tuple[float, float, float]


def rotation(rpy: Triple) -> Array:
    """R = Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def angles(R: Array) -> Triple:
    """Roll, pitch, yaw of a rotation.

    Roll is computed after removing yaw, so that R is reproduced to the last digits even where the pitch is a
    quarter turn and roll and yaw are not unique.
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0])), yaw


def about_axis(axis: Array, angle: float) -> Array:
    """Rotation about an axis of unit length (Rodrigues)."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turned: Array = np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K
    return turned
