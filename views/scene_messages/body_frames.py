"""Frames of rigid bodies: their places and turns, from the points at their origin and 1 m along their x and y axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from foxglove.messages import FrameTransform, Quaternion, Timestamp
from scipy.spatial.transform import Rotation

from granite.config.modules import Module
from granite.views.plots.body_points import BodyPoints
from granite.views.scene_messages.primitives import Position, vector

WORLD = "world"


class BodyFrames:
    """The frame of each rigid body of some modules; flexible ones have none."""

    def __init__(self, modules: Sequence[Module], body_points: BodyPoints, planar: bool) -> None:
        self._planar = planar
        #: by module and body: the name of the frame
        self.names = {(m.name, b.name): f"{m.name}/{b.name}" for m in modules for b in m.bodies if b.flexible is None}
        self._numbers = [[body_points.on(*body, at) for at in ((0, 0), (1, 0), (0, 1))] for body in self.names]

    def transforms(self, at: Sequence[Position], stamp: Timestamp, of: str = "") -> Iterator[FrameTransform]:
        """Where the frames are; their names begin with `of`."""
        for name, origin, turn in self.poses(at):
            yield FrameTransform(
                timestamp=stamp,
                parent_frame_id=WORLD,
                child_frame_id=of + name,
                translation=vector(origin),
                rotation=Quaternion(**dict(zip("xyzw", turn, strict=True))),
            )

    def poses(self, at: Sequence[Position]) -> Iterator[tuple[str, Position, list[float]]]:
        """Name, origin and quaternion x, y, z, w of each frame."""
        for name, (origin, x, y) in zip(self.names.values(), self._numbers, strict=True):
            yield name, at[origin], self._turn(at[origin], at[x], at[y])

    def _turn(self, origin: Position, along_x: Position, along_y: Position) -> list[float]:
        if self._planar:
            half = 0.5 * math.atan2(along_x[1] - origin[1], along_x[0] - origin[0])
            return [0.0, 0.0, math.sin(half), math.cos(half)]
        x = np.subtract(along_x, origin)
        y = np.subtract(along_y, origin)
        turn: list[float] = Rotation.from_matrix(np.stack((x, y, np.cross(x, y)), axis=1)).as_quat().tolist()
        return turn
