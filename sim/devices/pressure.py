"""Simulated supply pressure: that of an ideal gas at constant temperature, which falls with the gas in the tank.

Thrust of a choked nozzle is proportional to the supply pressure, as the plant has it (`sim/plant/gas.py`).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.devices.pressure import Pressure
from granite.config.devices.thrusters import Thrusters
from granite.sim.devices.sampled_sensor import Errors, SampledSensor, converted
from granite.sim.plant.gas import full_tank
from granite.sim.plant.plant import Plant


class SimulatedPressure(SampledSensor):
    """The supply pressure of a device of thrusters [Pa], at every tick; constant where its tank has no limit."""

    def __init__(self, pressure: Pressure, plant: Plant, rng: np.random.Generator) -> None:
        self._table = pressure
        supplied, devices = pressure.supplied(plant.bed), plant.bed.devices_of(Thrusters)
        tank, full, n = list(devices).index(supplied), full_tank(devices[supplied]), len(devices)
        key = f"{pressure.model_dump_json()} {tank} {full} {n}"
        super().__init__(plant, rng, 1, 1, key, lambda: _measurement(pressure, tank, full, n))

    def errors(self, rng: np.random.Generator) -> Errors:
        """Noise."""
        return Errors(np.zeros(0), np.zeros(1), np.array([self._table.noise_pa]))


def _measurement(pressure: Pressure, tank: int, full: float | None, n: int) -> tuple[dict[str, ca.SX], ca.SX]:
    """(impulse left in each tank, nothing, error) -> output of the converter."""
    left, drawn, error = ca.SX.sym("left", n), ca.SX.sym("drawn", 0), ca.SX.sym("error")
    true = pressure.full_pa * (left[tank] / full if full else 1.0)
    measured = converted(true + error, 0.0, pressure.range_pa - pressure.step_pa, pressure.step_pa)
    return {"left": left, "drawn": drawn, "error": error}, measured
