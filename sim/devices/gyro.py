"""Simulated gyro: bias, error of scale, noise and the steps of its converter."""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.devices.gyro import Gyro
from granite.sim.devices.converter import converted
from granite.sim.devices.sampled_sensor import Errors, SampledSensor
from granite.sim.plant.plant import Plant


class SimulatedGyro(SampledSensor):
    """The rate of a root body about z [rad/s], at every tick."""

    def __init__(self, gyro: Gyro, plant: Plant, rng: np.random.Generator) -> None:
        self._table, n_u = gyro, len(plant.bed.velocities)
        heading = plant.bed.layout.root_u(gyro.turned(plant.bed)).start + 2
        key = f"{gyro.model_dump_json()} {heading} {n_u}"
        super().__init__(plant, rng, 1, 1, key, lambda: _measurement(gyro, heading, n_u))

    def errors(self, rng: np.random.Generator) -> Errors:
        """Bias and noise; the error of scale."""
        simulated, noise = self._table.simulated, self._table.noise_rad_s
        return Errors(np.array([simulated.scale]), np.array([simulated.bias_rad_s]), np.array([noise]))


def _measurement(gyro: Gyro, heading: int, n_u: int) -> tuple[dict[str, ca.SX], ca.SX]:
    """(velocities, scale, error) -> output of the converter."""
    u, scale, error, most = ca.SX.sym("u", n_u), ca.SX.sym("scale"), ca.SX.sym("error"), gyro.range_rad_s
    output = converted(scale * u[heading] + error, -most, most - gyro.step_rad_s, gyro.step_rad_s)
    measured = u[heading] if gyro.simulated.perfect else output
    return {"u": u, "drawn": scale, "error": error}, measured
