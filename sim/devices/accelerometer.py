"""Simulated accelerometer: mean specific force since the last reading; biases that walk, scale, noise, converter."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from granite.config.devices.accelerometer import Accelerometer
from granite.config.testbed import Testbed
from granite.mrds.height_map import GRAVITY
from granite.sim.devices.sampled_sensor import Errors, SampledSensor, converted
from granite.sim.plant.draws import by_name, draws
from granite.sim.plant.floor import downhill
from granite.sim.plant.plant import Plant


class SimulatedAccelerometer(SampledSensor):
    """Specific force of a place on a root body [m/s2], at every tick.

    The mean over a period is the change of the velocity in it: an impact, or a valve that opens for a part of it,
    counts by its impulse, as behind the filter of a real one.
    """

    def __init__(self, table: Accelerometer, plant: Plant, rng: np.random.Generator) -> None:
        self._table, bed = table, plant.bed
        self._bed = bed
        floor = bed.simulation.table
        key = repr((table.model_dump_json(), bed.fingerprint, floor, table.mounted(bed).name))
        super().__init__(plant, rng, 2, 1, bed.fingerprint and key, lambda: _measurement(table, bed))

    def errors(self, rng: np.random.Generator) -> Errors:
        """Biases, their walk, and noise; the error of scale."""
        simulated = self._table.simulated
        bias = np.array(simulated.bias_m_s2) + simulated.bias_deviation_m_s2 * rng.spawn(1)[0].standard_normal(2)
        step = simulated.bias_walk_m_s2_per_rts * math.sqrt(self._bed.loop.period_s)
        noise = self._table.noise_m_s2(self._bed)
        return Errors(np.array([simulated.scale]), bias, np.full(2, noise), np.full(2, step))


def _measurement(table: Accelerometer, bed: Testbed) -> tuple[dict[str, ca.SX], ca.SX]:
    """(coordinates, velocities, both at the last reading, constants of the plant, scale, errors) -> the output."""
    n_q, n_u = len(bed.positions), len(bed.velocities)
    q, u, last = ca.SX.sym("q", n_q), ca.SX.sym("u", n_u), ca.SX.sym("last", n_q + n_u)
    module = table.mounted(bed)
    first_q, first_u = bed.layout.root_q(module).start, bed.layout.root_u(module).start
    poses = [part[first_q : first_q + 3] for part in (q, last)]
    rates = [part[first_u : first_u + 3] for part in (u, last[n_q:])]
    r = ca.DM(table.position_m)
    velocities, position = [], ca.SX()
    for pose, rate in zip(poses, rates, strict=True):
        c, s = ca.cos(pose[2]), ca.sin(pose[2])
        arm = ca.vertcat(c * r[0] - s * r[1], s * r[0] + c * r[1])
        velocities.append(rate[:2] + rate[2] * ca.vertcat(-arm[1], arm[0]))
        position = pose[:2] + arm
    constants = ca.SX.sym("constants", sum(draw.size for draw in draws(bed)))
    a = (velocities[0] - velocities[1]) / bed.loop.period_s
    floor = bed.simulation.table
    if not floor.ideal:
        a -= downhill(floor, GRAVITY, ca.vertcat(position, 0), by_name(bed, constants))[:2]
    c, s = (f((poses[0][2] + poses[1][2]) / 2 + table.angle_rad) for f in (ca.cos, ca.sin))
    force = ca.vertcat(c * a[0] + s * a[1], -s * a[0] + c * a[1])
    scale, error, most, step = ca.SX.sym("scale"), ca.SX.sym("error", 2), table.range_m_s2, table.step_m_s2
    output = ca.vertcat(*(converted(scale * force[i] + error[i], -most, most - step, step) for i in range(2)))
    inputs = {"q": q, "u": u, "constants": constants, "last": last, "drawn": scale, "error": error}
    return inputs, force if table.simulated.perfect else output
