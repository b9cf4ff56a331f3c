"""The scene of successive rows on the channels of a log or of the live view.

/scene         shapes that are fixed to frames, and the table: once, and when more becomes known
/scene/marks   jets, contacts and bent links
/tf            the frame of each rigid body of the modules, and of the robot at its reference
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from foxglove.channels import FrameTransformsChannel, SceneUpdateChannel

from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.log_content import read_content
from granite.logs.mcap_file import FINGERPRINTS, SCENE_TOPICS, TESTBED, McapFile
from granite.logs.unfinished import UnfinishedLog
from granite.views.scene_messages.live_scene import LiveScene
from granite.views.scene_rows import DrawnParts

SCENE, MARKS, FRAMES = SCENE_TOPICS
#: time between two scenes [s]
PERIOD = 1 / 30
_MARK = ".exporting"


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


def export_scene(log: Path, new: Path, overwrite: bool = False) -> int:
    """Write everything of a log and its scene into a new one; how many rows there are.

    Raises
    ------
    InputError
        Where the log can't be read, or the new one can't be written.
    """
    try:
        content = read_content(log)
        unfinished = UnfinishedLog(new, overwrite, _MARK)
    except OSError as error:
        raise InputError(f"log '{error.filename or log}': {error.strerror}") from None
    written = {"format", "start_ns", *FINGERPRINTS.values()}
    metadata = {key: value for key, value in content.info.items() if key not in written}
    start_ns = int(content.info.get("start_ns", "0"))
    bed = content.attachments[TESTBED]
    try:
        file = McapFile(str(unfinished.path), content.channels, bed, metadata, start_ns, scene=True)
        scene = SceneStream(content.bed, content.channels, file)
        for rows in content.rows.blocks():
            file.write(rows)
            scene.show_all(rows)
        for event in content.events:
            file.event(event["t_s"], event["tick"], event["level"], event["name"], event["text"])
        if content.summary is not None:
            file.summary(json.dumps(content.summary))
        file.close()
        unfinished.finish()
    except (RuntimeError, OSError) as error:
        unfinished.discard()
        raise InputError(f"log '{new}' can't be written: {error}") from None
    return len(content.rows)
