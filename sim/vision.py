"""Simulated camera: exposes on its own beat, reports late, sometimes not at all, and with noise."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from granite.config.devices import Vision
from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.simulation import VisionFaults
from granite.config.testbed import Testbed
from granite.drivers.contract import Frame
from granite.mrds.tolerances import SAME_TIME_S
from granite.sim.device import SimulatedDevice
from granite.sim.plant import Plant


class Picture(NamedTuple):
    """What is known of a picture before it is taken."""

    lost: bool
    step: int  #: the physics step in which it is exposed
    exposure: float  #: [s]
    back: float  #: from the end of the step to the exposure [s]
    arrival: float  #: [s]
    error: list[float]  #: of x [m], y [m], heading [rad]


class SimulatedVision(SimulatedDevice):
    """The pose of the root body: x [m], y [m], heading [rad], with the time of its exposure."""

    def __init__(self, bed: Testbed, plant: Plant, rng: np.random.Generator) -> None:
        vision, faults = bed.devices.vision, bed.simulation.vision
        if vision is None:
            raise InputError("devices.vision: missing, there is nothing to simulate")
        if bed.robot.base != "floating" or bed.robot.dimension != "planar":
            found = f"{bed.robot.base} and {bed.robot.dimension}"
            raise InputError(f"devices.vision: '{vision.body}' is {found}, expected floating and planar")
        self._plant = plant
        self._perfect = faults.perfect
        self._pictures = pictures(vision, faults, plant.step_s, rng)
        self._next = next(self._pictures)
        # Arrival, exposure, pose; first in, first out: none overtakes another or comes before its exposure.
        self._under_way: deque[tuple[float, float, Array]] = deque()
        self._frame = Frame(np.nan, 0, np.full(3, np.nan))
        if not self._perfect:
            self.observe(0, np.concatenate([plant.q, plant.u])[np.newaxis])
            plant.observers.append(self)

    def observe(self, last: int, path: Array) -> None:
        """Take the pictures that fall into these steps."""
        while self._next.step <= last:
            lost, step, exposure, back, arrival, error = self._next
            self._next = next(self._pictures)
            if lost:
                continue
            x = path[step - last - 1].tolist()
            n = len(x) // 2
            # Back from the end of the step: wrong by less than a step squared times half the acceleration.
            pose = (
                x[0] - back * x[n] + error[0],
                x[1] - back * x[n + 1] + error[1],
                x[2] - back * x[n + 2] + error[2],
            )
            self._under_way.append((arrival, exposure, np.array(pose)))

    def read(self, t: float) -> Frame:
        """The newest picture that has arrived."""
        self._plant.advance(t)
        if self._perfect:
            if not t <= self._frame.taken:
                self._frame = Frame(t, self._frame.number + 1, self._plant.q[:3])
            return self._frame
        arrived = self._under_way
        while arrived and arrived[0][0] <= t + SAME_TIME_S:
            _, exposure, pose = arrived.popleft()
            self._frame = Frame(exposure, self._frame.number + 1, pose)
        return self._frame


def pictures(vision: Vision, faults: VisionFaults, step_s: float, rng: np.random.Generator) -> Iterator[Picture]:
    """One picture after the other without end; made in blocks, which cost no more than one."""
    deviation = np.array([vision.position_noise_m, vision.position_noise_m, vision.heading_noise_rad])
    first, block = 0, 64
    while True:
        exposure = np.arange(first, first + block) / vision.rate_hz
        # Every picture draws all its numbers, so that no fault changes the draws of another.
        chance, late = rng.random((2, block))
        error = deviation * rng.standard_normal((block, 3))
        lost = chance < faults.dropout_probability
        step = np.ceil((exposure - SAME_TIME_S) / step_s)
        arrival = exposure + vision.latency_s + faults.latency_jitter_s * (2.0 * late - 1.0)
        columns: tuple[Array, ...] = (lost, step.astype(int), exposure, step * step_s - exposure, arrival, error)
        yield from map(Picture._make, zip(*(column.tolist() for column in columns), strict=True))
        first += block
