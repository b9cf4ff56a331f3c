"""The exposures of a simulated camera: when they happen, which are lost or late, and how the bodies move then."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from granite.config.devices.camera import Camera
from granite.config.devices.vision import SeenTarget
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.sim.devices.device import SimulatedDevice
from granite.sim.devices.exposures import exposures
from granite.sim.devices.vision import target_kernel
from granite.sim.plant.plant import Plant

#: pose and velocity of a body
Motion = tuple[Array, Array]


class ExposingCamera(SimulatedDevice):
    """A camera that exposes the frames which are not lost; a subclass says what comes of them.

    Lost and late frames and time stamps are drawn as for the vision sensor without pixels (`sim/devices/exposures.py`).
    """

    def __init__(self, camera: Camera, plant: Plant, rng: np.random.Generator, bodies: Sequence[str]) -> None:
        self._plant = plant
        bed = plant.bed
        targets = {target.name: target for other in bed.devices_of(Camera).values() for target in [other.target(bed)]}
        self._motions = [_motion(bed, targets[body]) for body in bodies]
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
                self.expose([motion(x, back) for motion in self._motions], exposure.stamp, exposure.arrival)


def _motion(bed: Testbed, target: SeenTarget) -> Callable[[Array, float], Motion]:
    """(q and u of the plant, time before) -> pose and velocity of a target then."""
    if not target.is_root:
        pose, rate = target_kernel(bed, target), 1e-4  # the velocity by differences over so many seconds

        def at(x: Array, back: float) -> Motion:
            now, before = (pose.run((x, np.array([s]), np.zeros(3))).copy() for s in (back, back + rate))
            return now, (now - before) / rate

        return at
    q, u = bed.layout.root_q(target.module).start, len(bed.positions) + bed.layout.root_u(target.module).start
    return lambda x, back: (x[q : q + 3] - back * x[u : u + 3], x[u : u + 3])
