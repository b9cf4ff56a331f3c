"""Simulated torque motors: limit, gain error, and zero-order hold of the set point."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from granite.config.devices.motors import Motors
from granite.config.records import Array, Frame, Status, new
from granite.sim.device import SimulatedDevice
from granite.sim.plant import Plant

_OK = int(Status.OK)


class SimulatedMotors(SimulatedDevice):
    """The motors of one device."""

    def __init__(self, motors: Motors, plant: Plant, rng: np.random.Generator) -> None:
        self._limits = [motor.torque_limit_n_m for motor in motors.units]
        self._least_limit = min(self._limits)
        self._joints = [motor.joint for motor in motors.units]
        self._gains = motors.simulated.gain
        self._gain: Array | None = None
        self.set_factors({})
        self._plant, self._number = plant, 0
        #: current torque (n) [N m]
        self.torque: Array = np.zeros(len(self._limits))
        plant.attach_motors(motors, self)

    def write(self, t: float, setpoint: Array) -> Frame:
        """Hold these torques from time t on, within the motors' limits; NaN stays NaN."""
        self._plant.advance(t)
        applied = setpoint
        torques, limit = setpoint.tolist(), self._least_limit
        if not (max(torques) <= limit and min(torques) >= -limit):  # clipping itself takes a microsecond
            applied = np.clip(setpoint, np.negative(self._limits), self._limits)
        self.torque = applied if self._gain is None else applied * self._gain
        self._number += 1
        return new(Frame, (t, self._number, _OK, applied))

    def set_factors(self, factors: Mapping[str, float]) -> None:
        """From the next set point on these joints get their torque times a factor; their frames do not report it."""
        gains = [self._gains.get(joint, 1.0) * factors.get(joint, 1.0) for joint in self._joints]
        self._gain = None if gains == [1.0] * len(gains) else np.array(gains)

    def stop(self, t: float) -> Frame:
        """No torque."""
        self._plant.advance(t)
        self.torque = np.zeros(len(self._limits))
        self._number += 1
        return Frame(t, self._number, _OK, self.torque)
