"""Simulated gyro: bias, error of scale, noise and the steps of its converter."""

from __future__ import annotations

import numpy as np

from granite.config.devices.gyro import Gyro
from granite.config.records import Frame, Status, no_frame
from granite.sim.devices.converter import converted
from granite.sim.devices.device import SimulatedSensor
from granite.sim.plant.plant import Plant


class SimulatedGyro(SimulatedSensor):
    """The rate of a root body about z [rad/s], at every tick."""

    def __init__(self, gyro: Gyro, plant: Plant, rng: np.random.Generator) -> None:
        self._plant, self._gyro, self._rng = plant, gyro, rng
        self._heading = plant.bed.layout.root_u(gyro.turned(plant.bed)).start + 2
        self._frame = no_frame(1)

    def read(self, t: float) -> Frame:
        """The rate now."""
        self._plant.advance(t)
        if self._frame.number and t <= self._frame.t:
            return self._frame
        gyro, errors = self._gyro, self._gyro.simulated
        rate = self._plant.u.item(self._heading)
        if not errors.perfect:
            measured = errors.scale * rate + errors.bias_rad_s + gyro.noise_rad_s * self._rng.standard_normal()
            rate = converted(measured, -gyro.range_rad_s, gyro.range_rad_s - gyro.step_rad_s, gyro.step_rad_s)
        self._frame = Frame(t, self._frame.number + 1, int(Status.OK), np.array([rate]))
        return self._frame
