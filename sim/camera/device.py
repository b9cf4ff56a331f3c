"""Simulated camera: renders the frames of its exposures, tracks the targets in them, and reports late.

Time of exposure, lost and late frames are drawn as for the simulated vision sensor without pixels (`sim/vision.py`).
"""

from __future__ import annotations

from collections import deque

import numpy as np

from granite.config.devices.camera import Camera
from granite.config.records import Array, Frame, Status, no_frame
from granite.drivers.camera.tags import TagFinder
from granite.drivers.camera.tracker import NO_MEMORY, Seen, Tracker
from granite.drivers.camera.view import view_of
from granite.drivers.camera.watch import Finder
from granite.mrds.tolerances import SAME_TIME_S
from granite.sim.camera.render import NoiseBank, RenderedFrame
from granite.sim.camera.scene import patterns_of, reflections_of, sensor_of, spots_of, tags_of
from granite.sim.camera.tag_light import tag_light
from granite.sim.device import SimulatedDevice
from granite.sim.plant import Plant
from granite.sim.vision import exposures

_OK = int(Status.OK)


class SimulatedCamera(SimulatedDevice):
    """Pose of a root body from rendered pixels: x [m], y [m], heading [rad], and one standard deviation of each.

    It sees the targets of all bodies that have a camera device, so that these may cross, and reports its own.
    """

    def __init__(self, camera: Camera, plant: Plant, rng: np.random.Generator) -> None:
        self._plant, bed = plant, plant.bed
        self._body, self._camera = camera.seen(bed).name, camera
        self._patterns, self._tags = patterns_of(bed), tags_of(bed)
        layout, n_q = bed.layout, len(bed.positions)
        modules = {module.name: module for module in bed.modules}
        bodies = [*self._tags, *(pattern.body for pattern in self._patterns)]
        self._q = {body: layout.root_q(modules[body]).start for body in bodies}
        self._u = {body: n_q + layout.root_u(modules[body]).start for body in bodies}
        view, gain = view_of(camera), camera.simulated.electrons_per_count
        self._finder: Finder
        if camera.tag is not None:
            self._finder = TagFinder(view, self._tags)
        else:
            self._finder = Tracker(view, self._patterns, 1 / gain if gain else 0.0)
        self._true_view = view_of(camera, camera.simulated.view)
        self._sensor, self._reflections = sensor_of(camera), reflections_of(camera)
        self._exposures = exposures(camera, plant.step_s, rng)
        self._next = next(self._exposures)
        self._noise = NoiseBank(camera.size_px, rng.spawn(1)[0])
        self._memory = NO_MEMORY
        self._under_way: deque[tuple[float, float, Array]] = deque()
        self._frame = no_frame(6)
        #: the newest frame and what was seen in it, for `granite see`
        self.newest: tuple[RenderedFrame, Seen] | None = None
        self._begun = False
        plant.observers.append(self)

    def observe(self, last: int, path: Array) -> None:
        """Expose the frames that fall into these steps."""
        while self._next.step <= last:
            lost, step, t, back, arrival, _ = self._next
            self._next = next(self._exposures)
            if not lost:
                self._expose(path[step - last - 1], t, back, arrival)

    def _expose(self, x: Array, t: float, back: float, arrival: float) -> None:
        def motion(body: str) -> tuple[Array, Array]:
            q, u = self._q[body], self._u[body]
            return x[q : q + 3] - back * x[u : u + 3], x[u : u + 3]

        spots, peak, light = list(self._reflections), self._camera.simulated.peak_counts, None
        for pattern in self._patterns:
            spots += spots_of(pattern, *motion(pattern.body), peak)
        if self._tags:
            tags = [(tag, *motion(body)) for body, tag in self._tags.items()]
            light = tag_light(self._true_view, tags, peak, self._sensor.exposure)
        frame = RenderedFrame(self._true_view, spots, self._sensor, self._noise, light)
        self._memory, seen = self._finder.see(self._memory, frame, t)
        for sighting in seen.sightings:
            if sighting.body == self._body:
                self._under_way.append((arrival, t, np.concatenate((sighting.pose, sighting.deviation))))
        self.newest = frame, seen

    def read(self, t: float) -> Frame:
        """The newest pose that has arrived."""
        if not self._begun:
            self._begun = True
            self.observe(0, np.concatenate([self._plant.q, self._plant.u])[np.newaxis])
        self._plant.advance(t)
        arrived = self._under_way
        while arrived and arrived[0][0] <= t + SAME_TIME_S:
            _, exposed, values = arrived.popleft()
            self._frame = Frame(exposed, self._frame.number + 1, _OK, values)
        return self._frame
