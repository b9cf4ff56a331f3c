"""Simulated emergency stop: pressed at a time, and pressed from then on."""

from __future__ import annotations

import math

import numpy as np

from granite.config.devices.emergency_stop import EmergencyStop
from granite.config.records import Frame, Status
from granite.mrds.tolerances import SAME_TIME_S
from granite.sim.devices.device import SimulatedSensor
from granite.sim.plant.plant import Plant


class SimulatedEmergencyStop(SimulatedSensor):
    """A new frame at every tick."""

    def __init__(self, button: EmergencyStop, plant: Plant, rng: np.random.Generator) -> None:
        at = button.simulated.pressed_at_s
        self._at, self._number = math.inf if at is None else at - SAME_TIME_S, 0

    def read(self, t: float) -> Frame:
        """The button now."""
        self._number += 1
        return Frame(t, self._number, int(Status.OK), np.array([float(t >= self._at)]))
