"""Base classes of simulated devices, and how the plant sees an actuator that is not simulated."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.drivers.contract import Actuator, Driver, Sensor


class SimulatedDevice(Driver):
    """A device without hardware: opening and closing it does nothing."""

    def open(self) -> None:
        """Nothing to open."""

    def close(self) -> None:
        """Nothing to close."""


class SimulatedSensor(SimulatedDevice, Sensor):
    """A simulated device that measures."""


class SimulatedActuator(SimulatedDevice, Actuator):
    """A simulated device that acts."""


class AbsentDevice:
    """Thrusters or motors that are not simulated, as the plant sees them: no force."""

    def __init__(self, n: int) -> None:
        #: of each motor [N m]
        self.torque: Array = np.zeros(n)

    def thrust(self, first: int, last: int) -> Array:
        """Of each thruster [N]."""
        return self.torque
