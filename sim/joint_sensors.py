"""Simulated RVDTs: offset, noise, converter steps, and the lag of the analogue rate filter."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from config import coordinates
from config.errors import InputError
from config.records import Array
from config.testbed import Testbed
from drivers.contract import Frame
from sim.device import SimulatedDevice
from sim.plant import Plant
from sim.rate_filter import RateFilter


class SimulatedJointSensors(SimulatedDevice):
    """One frame per tick: the angles [rad], then the rates [rad/s], of the sensed joints."""

    def __init__(self, bed: Testbed, plant: Plant, rng: np.random.Generator) -> None:
        sensors, faults = bed.devices.joint_sensors, bed.simulation.joint_sensors
        if sensors is None:
            raise InputError("devices.joint_sensors: missing, there is nothing to simulate")
        angles = [c.name for c in coordinates.positions(bed.robot)]
        rates = [c.name for c in coordinates.velocities(bed.robot)]
        self._plant = plant
        self._perfect = faults.perfect
        self._angle = [angles.index(j) for j in sensors.joints]
        self._rate = [rates.index(j) for j in sensors.joints]
        self._angle_noise, self._rate_noise = sensors.angle_noise_rad, sensors.rate_noise_rad_s
        self._noise = _normals(rng, 2 * len(sensors.joints))
        self._quantum = sensors.range_rad / (1 << sensors.converter_bits)
        self._lowest, self._highest = -sensors.range_rad / 2, sensors.range_rad / 2 - self._quantum
        self._frame = Frame(np.nan, 0, np.full(2 * len(sensors.joints), np.nan))
        self._offset = [0.0 if self._perfect else faults.offset_rad.get(j, 0.0) for j in sensors.joints]
        a, b = sensors.filter_a_rad_s, sensors.filter_b_rad_s
        self._filters: list[RateFilter] = []
        if a > 0 and b > 0:
            q, u = plant.q, plant.u
            self._filters = [
                RateFilter(a, b, plant.step_s, q.item(i) + offset, u.item(j))
                for i, j, offset in zip(self._angle, self._rate, self._offset, strict=True)
            ]
            plant.observers.append(self)

    def observe(self, t: float, q: Array, u: Array) -> None:
        """The rate filters follow the analogue angle through every step."""
        for i, offset, rate_filter in zip(self._angle, self._offset, self._filters, strict=True):
            rate_filter.step(q.item(i) + offset)

    def read(self, t: float) -> Frame:
        """The joints now; the same frame again when no time has passed."""
        self._plant.advance(t)
        if not t <= self._frame.taken:
            angles = [self._plant.q.item(i) + offset for i, offset in zip(self._angle, self._offset, strict=True)]
            rates = [f.rate for f in self._filters] or [self._plant.u.item(i) for i in self._rate]
            if not self._perfect:
                noise = next(self._noise)
                angles = [self._converted(x + self._angle_noise * noise.pop()) for x in angles]
                rates = [x + self._rate_noise * noise.pop() for x in rates]
            self._frame = Frame(t, self._frame.number + 1, np.array(angles + rates))
        return self._frame

    def _converted(self, angle: float) -> float:
        within = min(max(angle, self._lowest), self._highest)
        return within - math.remainder(within, self._quantum)


def _normals(rng: np.random.Generator, n: int) -> Iterator[list[float]]:
    """Rows of n standard normal numbers without end, in blocks: one draw costs as much as many."""
    while True:
        yield from rng.standard_normal((256, n)).tolist()
