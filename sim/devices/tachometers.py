"""Simulated tachometers: error of scale, filter and noise; a rate beyond the range is cut off."""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.devices.tachometers import Tachometers
from granite.sim.devices.sampled_sensor import Errors, SampledSensor
from granite.sim.plant.equations import first_sensed, sensed_joints
from granite.sim.plant.plant import Plant


class SimulatedTachometers(SampledSensor):
    """The rates [rad/s] of the sensed joints, at every tick or at the sensors' own rate."""

    def __init__(self, table: Tachometers, plant: Plant, rng: np.random.Generator) -> None:
        self._table, n = table, len(table.joints)
        first, n_all = first_sensed(plant.bed, table), len(sensed_joints(plant.bed))
        key = f"{table.model_dump_json(exclude={'calibration'})} {first} {n_all}"
        ticks = table.ticks(plant.bed.loop.period_s)
        super().__init__(plant, rng, n, ticks, key, lambda: _measurement(table, first, n_all))

    def errors(self, rng: np.random.Generator) -> Errors:
        """Noise, and the error of scale."""
        n = len(self._table.joints)
        return Errors(np.array([self._table.simulated.scale]), np.zeros(n), np.full(n, self._table.rate_noise_rad_s))


def _measurement(table: Tachometers, first: int, n_all: int) -> tuple[dict[str, ca.SX], ca.SX]:
    """(angles and rates behind their filters of all sensed joints, scale, errors) -> the measured rates."""
    n, most = len(table.joints), table.range_rad_s
    joints, scale, error = ca.SX.sym("joints", 2 * n_all), ca.SX.sym("scale"), ca.SX.sym("error", n)
    rates = joints[n_all + first : n_all + first + n]
    measured = rates if table.simulated.perfect else ca.fmin(ca.fmax(scale * rates + error, -most), most)
    return {"joints": joints, "drawn": scale, "error": error}, measured
