"""Simulated camera: exposes on its own beat, reports late, sometimes not at all, and with noise."""

from __future__ import annotations

from collections import deque

import numpy as np

from config.errors import InputError
from config.records import Array
from config.testbed import Testbed
from drivers.contract import Frame
from sim.device import SimulatedDevice
from sim.plant import Plant

_ROUNDING_S = 1e-9  #: two times closer than this are the same


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
        self._rng = rng
        self._perfect = faults.perfect
        self._rate, self._latency, self._jitter = vision.rate_hz, vision.latency_s, faults.latency_jitter_s
        self._dropout = faults.dropout_probability
        self._noise = np.array([vision.position_noise_m, vision.position_noise_m, vision.heading_noise_rad])
        self._exposures = 0
        self._next_exposure = 0.0
        # Arrival, exposure, pose; first in, first out: none overtakes another or comes before its exposure.
        self._under_way: deque[tuple[float, float, Array]] = deque()
        self._frame = Frame(np.nan, 0, np.full(3, np.nan))
        if not self._perfect:
            self.observe(plant.t, plant.q, plant.u)
            plant.observers.append(self)

    def observe(self, t: float, q: Array, u: Array) -> None:
        """Take the pictures that fall into the step that ends at t."""
        while self._next_exposure <= t + _ROUNDING_S:
            exposure = self._next_exposure
            self._exposures += 1
            self._next_exposure = self._exposures / self._rate
            # Every picture draws all its numbers, so that no fault changes the draws of another.
            lost, late = self._rng.random(2).tolist()
            noise = self._noise * self._rng.standard_normal(3)
            if lost < self._dropout:
                continue
            arrival = exposure + self._latency + self._jitter * (2.0 * late - 1.0)
            # Back from the end of the step: wrong by less than a step squared times half the acceleration.
            pose = q[:3] - (t - exposure) * u[:3] + noise
            self._under_way.append((arrival, exposure, pose))

    def read(self, t: float) -> Frame:
        """The newest picture that has arrived."""
        self._plant.advance(t)
        if self._perfect:
            if not t <= self._frame.taken:
                self._frame = Frame(t, self._frame.number + 1, self._plant.q[:3])
            return self._frame
        arrived = self._under_way
        while arrived and arrived[0][0] <= t + _ROUNDING_S:
            _, exposure, pose = arrived.popleft()
            self._frame = Frame(exposure, self._frame.number + 1, pose)
        return self._frame
