"""Simulated torque motors: a limit, and the set point held until the next one."""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.compilation import compile_functions
from granite.sim.device import SimulatedDevice
from granite.sim.plant import Plant


class SimulatedMotors(SimulatedDevice):
    """All motors of the robot."""

    def __init__(self, bed: Testbed, plant: Plant) -> None:
        limit = np.array([m.torque_limit_n_m for m in bed.devices.motors])
        self._limited = compile_functions("motors", [_limited(limit)])["limited"].run
        self._plant = plant
        #: torque in force (n_m) [N m]
        self.torque: Array = np.zeros(len(limit))
        plant.motors = self

    def write(self, t: float, setpoint: Array) -> Array:
        """Hold these torques from time t on, as far as the motors can; return what they can."""
        self._plant.advance(t)
        self.torque = self._limited((setpoint,))
        return self.torque

    def stop(self, t: float) -> None:
        """No torque."""
        self._plant.advance(t)
        self.torque = np.zeros(len(self.torque))


def _limited(limit: Array) -> ca.Function:
    """The torque within the limit; what is not a number stays that."""
    torque = ca.SX.sym("torque", len(limit))
    within = ca.if_else(torque > limit, limit, ca.if_else(torque < -limit, -limit, torque))
    return ca.Function("limited", [torque], [within])
