"""The exposures of a simulated camera: when they happen, which are lost or late, and how the bodies move then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite.config.devices.camera import Camera
from granite.config.records import Array
from granite.sim.devices.device import SimulatedDevice
from granite.sim.devices.exposures import exposures
from granite.sim.plant.plant import Plant

#: pose and velocity of a root body
Motion = tuple[Array, Array]


class ExposingCamera(SimulatedDevice):
    """A camera that exposes the frames which are not lost; a subclass says what comes of them.

    Lost and late frames and time stamps are drawn as for the vision sensor without pixels (`sim/devices/exposures.py`).
    """

    def __init__(self, camera: Camera, plant: Plant, rng: np.random.Generator, bodies: Sequence[str]) -> None:
        self._plant = plant
        bed = plant.bed
        modules = {module.name: module for module in bed.modules}
        n_q = len(bed.positions)
        roots = [(bed.layout.root_q(modules[body]), bed.layout.root_u(modules[body])) for body in bodies]
        self._roots = [(q.start, n_q + u.start) for q, u in roots]
        self._exposures = exposures(camera, bed, plant.step_s, rng)
        self._next = next(self._exposures)
        self._begun = False
        plant.observers.append(self)

    def expose(self, motions: list[Motion], t: float, arrival: float) -> None:
        """A frame of bodies with these motions, exposed at t by the camera's clock, which arrives later [s]."""
        raise NotImplementedError

    def advance(self, t: float) -> None:
        """Move the plant to time t [s], with the exposures until then."""
        if not self._begun:
            self._begun = True
            self.observe(0, np.concatenate([self._plant.q, self._plant.u])[np.newaxis])
        self._plant.advance(t)

    def observe(self, last: int, path: Array) -> None:
        """Expose the frames that fall into these steps."""
        while self._next.step <= last:
            exposure, self._next = self._next, next(self._exposures)
            if not exposure.lost:
                x, back = path[exposure.step - last - 1], exposure.back
                # Back from the end of the step: wrong by less than a step squared times half the acceleration.
                motions = [(x[q : q + 3] - back * x[u : u + 3], x[u : u + 3]) for q, u in self._roots]
                self.expose(motions, exposure.stamp, exposure.arrival)
