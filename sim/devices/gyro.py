"""Simulated gyro: bias that walks, error of scale, noise and the steps of its converter."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from granite.config.devices.gyro import Gyro
from granite.sim.devices.sampled_sensor import Errors, SampledSensor, converted
from granite.sim.plant.plant import Plant


class SimulatedGyro(SampledSensor):
    """The rate of a root body about z [rad/s], at every tick."""

    def __init__(self, gyro: Gyro, plant: Plant, rng: np.random.Generator) -> None:
        self._table, n_u, self._period = gyro, len(plant.bed.velocities), plant.bed.loop.period_s
        heading = plant.bed.layout.root_u(gyro.mounted(plant.bed)).start + 2
        key = f"{gyro.model_dump_json()} {heading} {n_u}"
        super().__init__(plant, rng, 1, 1, key, lambda: _measurement(gyro, heading, n_u))

    def errors(self, rng: np.random.Generator) -> Errors:
        """Bias, its walk, and noise; the error of scale."""
        simulated, noise = self._table.simulated, self._table.noise_rad_s
        bias = simulated.bias_rad_s + simulated.bias_deviation_rad_s * rng.spawn(1)[0].standard_normal(1)
        # A walk of K [rad/s / sqrt(s)] has the deviation K sqrt(t) (rate random walk, IEEE Std 952).
        step = simulated.bias_walk_rad_s_per_rts * math.sqrt(self._period)
        return Errors(np.array([simulated.scale]), bias, np.array([noise]), np.array([step]))


def _measurement(gyro: Gyro, heading: int, n_u: int) -> tuple[dict[str, ca.SX], ca.SX]:
    """(velocities, scale, error) -> output of the converter."""
    u, scale, error, most = ca.SX.sym("u", n_u), ca.SX.sym("scale"), ca.SX.sym("error"), gyro.range_rad_s
    output = converted(scale * u[heading] + error, -most, most - gyro.step_rad_s, gyro.step_rad_s)
    measured = u[heading] if gyro.simulated.perfect else output
    return {"u": u, "drawn": scale, "error": error}, measured
