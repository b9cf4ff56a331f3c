"""Simulated supply pressure: that of an ideal gas at constant temperature, which falls with the gas in the tank.

Thrust of a choked nozzle is proportional to the supply pressure, as the plant has it (`sim/plant/equations.py`).
"""

from __future__ import annotations

import math

import numpy as np

from granite.config.devices.pressure import Pressure
from granite.config.devices.thrusters import Thrusters
from granite.config.records import Frame, Status, no_frame
from granite.sim.devices.converter import converted
from granite.sim.devices.device import SimulatedSensor
from granite.sim.plant.plant import Plant


class SimulatedPressure(SimulatedSensor):
    """The supply pressure of a device of thrusters [Pa], at every tick; constant where its tank has no limit."""

    def __init__(self, pressure: Pressure, plant: Plant, rng: np.random.Generator) -> None:
        self._plant, self._table, self._rng = plant, pressure, rng
        supplied, devices = pressure.supplied(plant.bed), plant.bed.devices_of(Thrusters)
        self._tank = list(devices).index(supplied)
        self._full = devices[supplied].simulated.tank_n_s or math.nan
        self._frame = no_frame(1)

    def read(self, t: float) -> Frame:
        """The pressure now."""
        self._plant.advance(t)
        if self._frame.number and t <= self._frame.t:
            return self._frame
        table, left = self._table, self._plant.impulse_left.item(self._tank) / self._full
        part = left if math.isfinite(left) else 1.0
        measured = table.full_pa * part + table.noise_pa * self._rng.standard_normal()
        value = converted(measured, 0.0, table.range_pa - table.step_pa, table.step_pa)
        self._frame = Frame(t, self._frame.number + 1, int(Status.OK), np.array([value]))
        return self._frame
