"""The scene of successive rows on the channels of a log or of the live view.

/scene         shapes that are fixed to frames, and the table: once, and when more becomes known
/scene/marks   jets, contacts and bent links
/tf            the frame of each rigid body of the modules, and of the robot at its reference
"""

from __future__ import annotations

import numpy as np
from foxglove.channels import FrameTransformsChannel, SceneUpdateChannel

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.mcap_file import SCENE_TOPICS, McapFile
from granite.views.scene_messages.live_scene import LiveScene
from granite.views.scene_rows import DrawnParts

SCENE, MARKS, FRAMES = SCENE_TOPICS
#: time between two scenes [s]
PERIOD = 1 / 30


class SceneStream:
    """Writes the scene of rows into the channels of a file's context."""

    def __init__(self, bed: Testbed, channels: Channels, file: McapFile) -> None:
        self._bed = bed
        self._channels = channels
        self._file = file
        self._shapes = SceneUpdateChannel(SCENE, context=file.context)
        self._marks = SceneUpdateChannel(MARKS, context=file.context)
        self._frames = FrameTransformsChannel(FRAMES, context=file.context)
        self._t = channels.column("/sample", "t_s")
        self._scene: LiveScene | None = None
        #: what the shapes show that were sent last; none: nobody has them
        self._parts: DrawnParts | None = None

    def forget(self) -> None:
        """Send the shapes again with the next rows: somebody new receives them."""
        self._parts = None

    def show(self, rows: Array) -> None:
        """The scene of the last row."""
        if self._scene is None:
            self._scene = LiveScene(self._bed, self._channels, rows[0])
        scene = self._scene
        at_ns = self._file.log_time(float(rows[-1, self._t]))
        if (parts := scene.parts(rows[-1])) != self._parts:
            self._parts = parts
            self._shapes.log(scene.shapes(parts, at_ns), log_time=at_ns)
        frames, marks = scene.now(rows, parts, at_ns)
        self._frames.log(frames, log_time=at_ns)
        self._marks.log(marks, log_time=at_ns)

    def show_all(self, rows: Array) -> None:
        """The scenes of many rows, one in each period."""
        of_period = np.floor(rows[:, self._t] / PERIOD)
        for part in np.split(rows, np.flatnonzero(np.diff(of_period)) + 1):
            self.show(part)
