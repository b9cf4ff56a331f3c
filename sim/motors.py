"""Simulated torque motors: a limit, and the set point held until the next one."""

from __future__ import annotations

import numpy as np

from config.records import Array
from config.testbed import Testbed
from sim.device import SimulatedDevice
from sim.plant import Plant


class SimulatedMotors(SimulatedDevice):
    """All motors of the robot."""

    def __init__(self, bed: Testbed, plant: Plant) -> None:
        self._upper = np.array([m.torque_limit_n_m for m in bed.devices.motors])
        self._lower = -self._upper
        self._plant = plant
        #: torque in force (n_m) [N m]
        self.torque: Array = np.zeros(len(self._upper))
        plant.motors = self

    def write(self, t: float, setpoint: Array) -> Array:
        """Hold these torques from time t on, as far as the motors can; return what they can."""
        self._plant.advance(t)
        self.torque = np.minimum(np.maximum(setpoint, self._lower), self._upper)
        return self.torque

    def stop(self, t: float) -> None:
        """No torque."""
        self._plant.advance(t)
        self.torque = np.zeros(len(self._upper))
