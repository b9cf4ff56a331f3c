"""Simulated momentum wheels: motors without torque to drive a wheel beyond its highest rate."""

from __future__ import annotations

import numpy as np

from granite.config.devices.momentum_wheel import MomentumWheels
from granite.config.records import Array, Frame
from granite.sim.devices.motors import SimulatedMotors
from granite.sim.plant.plant import Plant


class SimulatedMomentumWheels(SimulatedMotors):
    """The wheels of one device. The limit acts at set points: a wheel exceeds it by what one period can add."""

    def __init__(self, wheels: MomentumWheels, plant: Plant, rng: np.random.Generator) -> None:
        super().__init__(wheels, plant, rng)
        self._rates = [plant.bed.layout.joint_u(wheel.joint) for wheel in wheels.units]
        self.highest_rates = [wheel.rate_limit_rad_s for wheel in wheels.units]

    def write(self, t: float, setpoint: Array) -> Frame:
        """Hold these torques from time t on; zero for one that drives its wheel beyond the highest rate."""
        self._plant.advance(t)
        u = self._plant.u
        given = []
        for torque, i, highest in zip(setpoint.tolist(), self._rates, self.highest_rates, strict=True):
            rate = u.item(i)
            given.append(0.0 if abs(rate) >= highest and torque * rate > 0 else torque)
        return super().write(t, np.array(given))
