"""A simulated gauge: offset, scale, cross-talk, noise, saturation and steps of the converter, at its own rate."""

from __future__ import annotations

from typing import Generic, TypeVar

import casadi as ca
import numpy as np

from granite.config.devices.gauge import Gauge
from granite.config.testbed import Testbed
from granite.sim.devices.sampled_sensor import Errors, SampledSensor, converted
from granite.sim.plant.plant import Plant

G = TypeVar("G", bound=Gauge)


class SimulatedGauge(SampledSensor, Generic[G]):
    """The readings of one device of gauges; a kind says what is true."""

    def __init__(self, gauge: G, plant: Plant, rng: np.random.Generator) -> None:
        self._gauge, self._bed = gauge, plant.bed
        bed, n = plant.bed, len(gauge.sheet(plant.bed))
        key = bed.fingerprint and f"{bed.fingerprint} {gauge.model_dump_json(exclude={'response', 'calibration'})}"
        super().__init__(plant, rng, n, gauge.ticks(bed.loop.period_s), key, self._measurement)

    def true_reading(self, bed: Testbed) -> tuple[dict[str, ca.SX], ca.SX]:
        """Symbols of its inputs by name, and the true value of each signal."""
        raise NotImplementedError

    def errors(self, rng: np.random.Generator) -> Errors:
        """Response of each signal (rows) to every true value and non-linearity; offset and noise.

        Everything is drawn always, so that switching one error does not change another.
        """
        sheet, errors, own = self._gauge.sheet(self._bed), self._gauge.simulated, self._gauge.sheet_response(self._bed)
        n, most, number = len(sheet), np.array([s.range for s in sheet]), np.array([s.gauge for s in sheet])
        offset, scale, talk = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), rng.uniform(-1, 1, (n, n))
        # A part of another signal, each in parts of its range: a force may show as a moment.
        shown = errors.cross_talk * talk * np.divide.outer(most, most) * np.equal.outer(number, number)
        np.fill_diagonal(shown, 1 + errors.scale_error * scale)
        # Errors that the seed draws come on top of the response in the data sheet.
        response = own.gain + shown - np.eye(n)
        return Errors(
            np.concatenate([response.ravel(), own.nonlinearity]),
            own.offset + errors.offset_ratio * most * offset,
            np.array([s.noise for s in sheet]),
        )

    def _measurement(self) -> tuple[dict[str, ca.SX], ca.SX]:
        """(inputs, response of each signal to all and non-linearity, error) -> output of the converter."""
        sheet, (inputs, true) = self._gauge.sheet(self._bed), self.true_reading(self._bed)
        n = len(sheet)
        drawn, error = ca.SX.sym("drawn", n * n + n), ca.SX.sym("error", n)
        response, bend = ca.reshape(drawn[: n * n], n, n), drawn[n * n :]
        most, step = ca.DM([s.range for s in sheet]), ca.DM([self._gauge.step(s) for s in sheet])
        value = response.T @ true + bend * most * (true / most) ** 3 + error
        measured = true if self._gauge.simulated.perfect else converted(value, -most, most - step, step)
        return {**inputs, "drawn": drawn, "error": error}, measured
