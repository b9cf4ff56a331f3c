"""The process of a camera in a rehearsal: it renders the frames of the plant, and delivers them in shared memory.

At its end it removes the memory.
"""

from __future__ import annotations

import select
import socket
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from granite.config.devices.camera import Camera
from granite.config.loader import from_json, plant_of
from granite.drivers.camera.centroid import Pixels
from granite.drivers.camera.sources.shared_frames import FrameWriter
from granite.drivers.camera.view import view_of
from granite.drivers.ordered_process import carry_out, request_priority
from granite.sim.camera.scene import FilmedScene, sensor_of
from granite.sim.camera.whole_frames import WholeFrames
from granite.sim.emulation.camera_line import ExposedFrame

_LONGEST = 65536
#: below the loop, the boards and the plant
_LOWER_PRIORITY = 30


def work(order: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Build the renderer, and deliver frames until standard input ends."""
    renderer = Renderer(order)
    yield {"ready": True}
    try:
        renderer.run()
    finally:
        renderer.close()


class Renderer:
    """The frames of a camera.

    Parameters
    ----------
    order
        `bed` (JSON), `camera` (name of the device), `socket` (the path at which exposures arrive), `memory` (name of
        the stream of frames).
    """

    def __init__(self, order: dict[str, Any]) -> None:
        bed, name = plant_of(from_json(order["bed"])), order["camera"]
        camera = bed.devices[name]
        assert isinstance(camera, Camera)
        self._scene = FilmedScene(bed, camera)
        # The second stream of the device: the first has its exposures.
        seed = np.random.SeedSequence(bed.seed, spawn_key=(list(bed.devices).index(name), 1))
        view = view_of(camera, camera.simulated.view)
        self._frames = WholeFrames(view, sensor_of(camera), np.random.default_rng(seed))
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(order["socket"])
        self._socket.setblocking(False)
        self._writer = FrameWriter(order["memory"], camera.size_px)
        self._waiting: deque[tuple[float, float, Pixels]] = deque()
        request_priority(bed.loop.priority - _LOWER_PRIORITY)

    def run(self) -> None:
        """Render what is exposed, and deliver what is due."""
        while True:
            left = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None
            ready = select.select([self._socket, sys.stdin], [], [], left)[0]
            if sys.stdin in ready:  # only its end comes there
                return
            if ready:
                exposed, due, motions = ExposedFrame.unpack(self._socket.recv(_LONGEST))
                self._waiting.append((due, exposed, self._frames.render(*self._scene.light(motions))))
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                _, exposed, pixels = self._waiting.popleft()
                self._writer.put(pixels, exposed)

    def close(self) -> None:
        """Remove the memory."""
        self._socket.close()
        self._writer.close()


if __name__ == "__main__":
    carry_out(work)
