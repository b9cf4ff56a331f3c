"""The parts of a robot as its file has them: masses, joints, and bodies with all that is fixed to them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Triple = tuple[float, float, float]


class Mass(NamedTuple):
    """Mass, where its centre is, and the inertia tensor about that."""

    mass: float
    com: Array
    inertia: Array

    def seen_from(self, R: Array, p: Array) -> Mass:
        """The same mass in the frame in which its own has the axes R and the origin p."""
        return Mass(self.mass, R @ self.com + p, R @ self.inertia @ R.T)


class Joint(NamedTuple):
    """A joint from one link to another."""

    name: str
    kind: Literal["revolute", "prismatic", "fixed"]
    parent: str
    child: str
    origin: Triple
    rpy: Triple
    axis: Array
    limits: dict[str, float]

    def carried_by(self, body: str, R: Array, p: Array) -> Joint:
        """The same joint from the body to which its parent link is fixed with the axes R at p."""
        # Where nothing turns, the angles of the file stand as they are, to the last bit.
        rpy = self.rpy if np.array_equal(R, np.eye(3)) else angles(R @ rotation(self.rpy))
        return self._replace(parent=body, origin=triple(R @ self.origin + p), rpy=rpy)


#: A fixed base never moves, so that its mass acts on nothing; but a body has one, and this is plainly made up.
NOMINAL = Mass(1.0, np.zeros(3), np.eye(3))


@dataclass
class Body:
    """A link that the ground or a moving joint carries, its mass and the frames (R, p) of all links fixed to it."""

    link: str
    joint: Joint | None = None
    frames: list[tuple[str, Array, Array]] = field(default_factory=list)
    mass: Mass = NOMINAL


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

    Roll is what is left when yaw is taken away, so that R comes back to the last digits even where the pitch is a
    quarter turn and roll and yaw are not known one by one.
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0])), yaw


def triple(vector: Array) -> Triple:
    """A vector as three numbers."""
    x, y, z = vector.tolist()
    return x, y, z
