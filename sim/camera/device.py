"""Simulated camera: renders the frames of its exposures, tracks the targets in them, and reports late."""

from __future__ import annotations

from collections import deque

import numpy as np

from granite.config.devices.camera import Camera
from granite.config.records import Array, Frame, Status, no_frame
from granite.drivers.camera.bodies import finder_of
from granite.drivers.camera.tracker import NO_MEMORY, Sightings
from granite.drivers.camera.view import view_of
from granite.drivers.contract import Sensor
from granite.mrds.tolerances import SAME_TIME_S
from granite.sim.camera.exposing import ExposingCamera, Motion
from granite.sim.camera.render import NoiseBank, RenderedFrame
from granite.sim.camera.scene import FilmedScene, sensor_of
from granite.sim.plant.plant import Plant

_OK = int(Status.OK)


class SimulatedCamera(ExposingCamera, Sensor):
    """Pose of a body from rendered pixels: x [m], y [m], heading [rad], and one standard deviation of each.

    It sees the targets of all bodies that have a camera device, so that these may cross, and reports its own.
    """

    def __init__(self, camera: Camera, plant: Plant, rng: np.random.Generator) -> None:
        bed = plant.bed
        self._body = camera.target(bed).name
        self._scene = FilmedScene(bed, camera)
        self._finder = finder_of(bed, camera)
        self._sensor = sensor_of(camera)
        self._true_view = view_of(camera, camera.simulated.view)
        super().__init__(camera, plant, rng, self._scene.bodies)
        self._noise = NoiseBank(camera.size_px, rng.spawn(1)[0])
        self._memory = NO_MEMORY
        self._under_way: deque[tuple[float, float, Array]] = deque()
        self._frame = no_frame(6)
        #: the newest frame and what was seen in it, for `granite see`
        self.newest: tuple[RenderedFrame, Sightings] | None = None

    def expose(self, motions: list[Motion], t: float, arrival: float) -> None:
        """Render the frame, and find the body in it."""
        spots, light = self._scene.light(motions)
        frame = RenderedFrame(self._true_view, spots, self._sensor, self._noise, light)
        self._memory, seen = self._finder.see(self._memory, frame, t)
        for sighting in seen.sightings:
            if sighting.body == self._body:
                self._under_way.append((arrival, t, np.concatenate((sighting.pose, sighting.deviation))))
        self.newest = frame, seen

    def read(self, t: float) -> Frame:
        """The newest pose that has arrived."""
        self.advance(t)
        arrived = self._under_way
        while arrived and arrived[0][0] <= t + SAME_TIME_S:
            _, exposed, values = arrived.popleft()
            self._frame = Frame(exposed, self._frame.number + 1, _OK, values)
        return self._frame
