"""The parts of a robot as its file has them: links, joints, and bodies with all that is fixed to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from granite.config.rotations import Array, Triple, angles, rotation
from granite.config.urdf.shapes import VisualShape


class Mass(NamedTuple):
    """Mass, mass centre, and the inertia tensor about it."""

    mass: float
    com: Array
    inertia: Array

    def seen_from(self, R: Array, p: Array) -> Mass:
        """The same mass in the frame in which its own has the axes R and the origin p."""
        return Mass(self.mass, R @ self.com + p, R @ self.inertia @ R.T)


#: of a link that is only a frame
NOTHING = Mass(0.0, np.zeros(3), np.zeros((3, 3)))
#: A fixed base never moves, so its mass has no effect; a body needs one, and this is an arbitrary value.
NOMINAL = Mass(1.0, np.zeros(3), np.eye(3))


class UrdfLink(NamedTuple):
    """A link: its mass and its visual shapes."""

    mass: Mass
    shapes: list[VisualShape]


class UrdfJoint(NamedTuple):
    """A joint from one link to another."""

    name: str
    kind: Literal["revolute", "prismatic", "fixed"]
    parent: str
    child: str
    origin: Triple
    rpy: Triple
    axis: Array
    limits: dict[str, float]
    resistance: dict[str, float]  #: damping and friction, by the keys of a testbed

    def carried_by(self, body: str, R: Array, p: Array) -> UrdfJoint:
        """The same joint from the body to which its parent link is fixed with the axes R at p."""
        # Without rotation, the angles of the file are kept bit for bit.
        rpy = self.rpy if np.array_equal(R, np.eye(3)) else angles(R @ rotation(self.rpy))
        return self._replace(parent=body, origin=triple(R @ self.origin + p), rpy=rpy)


@dataclass
class UrdfBody:
    """A link that the ground or a moving joint carries, with the frames (R, p) of all links fixed to it."""

    link: str
    joint: UrdfJoint | None = None
    frames: list[tuple[str, Array, Array]] = field(default_factory=list)
    mass: Mass = NOTHING
    shapes: list[VisualShape] = field(default_factory=list)


def triple(vector: Array) -> Triple:
    """A vector as three numbers."""
    x, y, z = vector.tolist()
    return x, y, z
