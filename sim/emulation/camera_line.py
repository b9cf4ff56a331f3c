"""An emulated camera in the plant's process: its exposures go to the renderer of its frames, in another process."""

from __future__ import annotations

import contextlib
import socket
from typing import NamedTuple

import numpy as np

from granite.config.devices.camera import Camera
from granite.config.records import Array
from granite.sim.camera.exposing import ExposingCamera, Motion
from granite.sim.camera.scene import FilmedScene
from granite.sim.plant.plant import Plant


class ExposedFrame(NamedTuple):
    """An exposure, before it is rendered."""

    exposed: float  #: [s]
    due: float  #: when the camera delivers it [s]
    motions: list[Motion]  #: of each body of the scene

    def pack(self) -> bytes:
        """The bytes to send."""
        motions = [part for motion in self.motions for part in motion]
        return np.concatenate([(self.exposed, self.due), *motions]).tobytes()

    @classmethod
    def unpack(cls, received: bytes) -> ExposedFrame:
        """The exposure of received bytes."""
        numbers: Array = np.frombuffer(received)
        exposed, due = numbers[:2].tolist()
        return cls(exposed, due, [(pose, rate) for pose, rate in numbers[2:].reshape(-1, 2, 3)])


class EmulatedCamera(ExposingCamera):
    """Collects its exposures."""

    def __init__(self, camera: Camera, plant: Plant, rng: np.random.Generator) -> None:
        super().__init__(camera, plant, rng, FilmedScene(plant.bed, camera).bodies)
        self._taken: list[ExposedFrame] = []
        self.advance(0.0)  # before another device moves the plant

    def expose(self, motions: list[Motion], t: float, arrival: float) -> None:
        """Keep the exposure until it is sent."""
        self._taken.append(ExposedFrame(t, arrival, motions))

    def take(self, t: float) -> list[ExposedFrame]:
        """The exposures since the last call."""
        self.advance(t)
        taken, self._taken = self._taken, []
        return taken


class CameraLine:
    """The connection to the renderer at this socket."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.connect(path)
        self._socket.setblocking(False)

    def send(self, frame: ExposedFrame, later: float) -> None:
        """Order a frame, with times that are so much later on the common clock [s]."""
        moved = frame._replace(exposed=frame.exposed + later, due=frame.due + later)
        with contextlib.suppress(OSError):  # the renderer is gone, and the loop notices it by the missing poses
            self._socket.send(moved.pack())
