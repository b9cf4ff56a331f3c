"""A simulated sensor that follows from its model alone: the expected value of the true motion, bias and noise."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from granite.config.devices.device import Device
from granite.config.errors import InputError
from granite.config.measurement import Measurement
from granite.mrds.kinematics import Kinematics
from granite.sim.devices.sampled_sensor import Errors, SampledSensor
from granite.sim.plant.plant import Plant


class SimulatedMeasurement(SampledSensor):
    """What a sensor with a model measures, at every tick; the seed draws its biases."""

    def __init__(
        self, table: Device, measurement: Measurement, motion: Kinematics, plant: Plant, rng: np.random.Generator
    ) -> None:
        """`measurement` is the sensor's model, in the symbols of `motion`."""
        if measurement.acceleration is not None:
            problem = "its model has an acceleration, which the plant does not show"
            raise InputError(problem, key="kind", value=table.kind, expected="a method `simulate` beside it")
        self._measurement, self._period = measurement, plant.bed.loop.period_s
        f = ca.Function("expected", [motion.q, motion.u], [ca.densify(ca.SX(measurement.expected))])

        def write() -> tuple[dict[str, ca.SX], ca.SX]:
            q, u = (ca.SX.sym(name, symbols.numel()) for name, symbols in (("q", motion.q), ("u", motion.u)))
            drawn, error = ca.SX.sym("drawn", 0), ca.SX.sym("error", len(measurement.noise))
            reading = f(q, u) + error
            reports = len(table.signals(plant.bed)) > len(measurement.noise)
            noise = ca.DM(list(measurement.noise) if reports else [])
            return {"q": q, "u": u, "drawn": drawn, "error": error}, ca.vertcat(reading, noise)

        key = repr((f.serialize(), measurement._replace(expected=None), len(table.signals(plant.bed))))
        super().__init__(plant, rng, len(table.signals(plant.bed)), 1, key, write)

    def errors(self, rng: np.random.Generator) -> Errors:
        """Biases, their walk, and noise."""
        n = len(self._measurement.noise)
        offset, step = np.zeros(n), np.zeros(n)
        for bias in self._measurement.biases:
            offset[bias.signal] = bias.deviation * rng.standard_normal()
            step[bias.signal] = bias.walk * math.sqrt(self._period)
        return Errors(np.zeros(0), offset, np.array(self._measurement.noise), step)
