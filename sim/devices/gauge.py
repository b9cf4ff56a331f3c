"""A simulated gauge: offset, scale, cross-talk, noise, saturation and steps of the converter, at its own rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

import casadi as ca
import numpy as np

from granite.config.devices.gauge import Gauge, Signal
from granite.config.records import Array, Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.kernels.compilation import compile_once
from granite.sim.devices.device import SimulatedSensor
from granite.sim.plant.plant import Plant

#: tolerance of due times, as a part of a period
_ROUNDING = 1e-6

_OK = int(Status.OK)
G = TypeVar("G", bound=Gauge)


class SimulatedGauge(SimulatedSensor, Generic[G]):
    """The readings of one device of gauges; a kind says what is true.

    `true_reading` gives symbols of its inputs and the true value of each signal, `inputs` the values of these symbols.
    """

    def __init__(self, gauge: G, plant: Plant, rng: np.random.Generator) -> None:
        self._gauge, self._plant = gauge, plant
        bed, sheet = plant.bed, gauge.sheet(plant.bed)
        own, (drawn, offset) = gauge.sheet_response(bed), _errors(gauge, sheet, rng)
        # Errors that the seed draws come on top of the response in the data sheet.
        self._response = own.gain + drawn - np.eye(len(sheet))
        self._offset, self._nonlinearity = own.offset + offset, own.nonlinearity
        self._noise = _noise(gauge, sheet, rng)
        key = bed.fingerprint and f"{bed.fingerprint} {gauge.model_dump_json(exclude={'response', 'calibration'})}"
        kernels = compile_once(f"gauge_{gauge.kind}", key, lambda: [self._measurement(bed, sheet)])
        self._measure = kernels["measurement"].run
        interval = gauge.ticks(bed.loop.period_s) * bed.loop.period_s
        self._interval, self._due = (1 - _ROUNDING) * interval, 0.0
        self._frame = no_frame(len(sheet))

    def true_reading(self, bed: Testbed) -> tuple[list[ca.SX], ca.SX]:
        """Symbols of the inputs, and the true value of each signal."""
        raise NotImplementedError

    def inputs(self) -> tuple[Array, ...]:
        """Values of these inputs now."""
        raise NotImplementedError

    def read(self, t: float) -> Frame:
        """The reading now; the same frame again until the next one is due."""
        self._plant.advance(t)
        if t >= self._due:
            values = self._measure(
                (*self.inputs(), self._response, self._nonlinearity, self._offset + next(self._noise))
            )
            self._frame = Frame(t, self._frame.number + 1, _OK, values)
            self._due = t + self._interval
        return self._frame

    def _measurement(self, bed: Testbed, sheet: tuple[Signal, ...]) -> ca.Function:
        """(inputs, response of each signal to all, non-linearity, error) -> output of the converter."""
        n, (given, true) = len(sheet), self.true_reading(bed)
        response, bend, error = ca.SX.sym("response", n, n), ca.SX.sym("bend", n), ca.SX.sym("error", n)
        most, step = ca.DM([s.range for s in sheet]), ca.DM([self._gauge.step(s) for s in sheet])
        value = response.T @ true + bend * most * (true / most) ** 3 + error
        # Written so that NaN stays NaN.
        value = ca.if_else(value < -most, -most, ca.if_else(value > most - step, most - step, value))
        measured = true if self._gauge.simulated.perfect else value - ca.remainder(value, step)
        return ca.Function("measurement", [*given, response, bend, error], [measured])


def _errors(gauge: Gauge, sheet: tuple[Signal, ...], rng: np.random.Generator) -> tuple[Array, Array]:
    """What the seed draws: response of each signal (rows) to every true value, and offset.

    Everything is drawn always, so that switching one error does not change another.
    """
    n, errors = len(sheet), gauge.simulated
    most, own = np.array([s.range for s in sheet]), np.array([s.gauge for s in sheet])
    offset, scale, talk = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), rng.uniform(-1, 1, (n, n))
    # A part of another signal, each in parts of its range: a force may show as a moment.
    shown = errors.cross_talk * talk * np.divide.outer(most, most) * np.equal.outer(own, own)
    np.fill_diagonal(shown, 1 + errors.scale_error * scale)
    return shown, errors.offset_ratio * most * offset


def _noise(gauge: Gauge, sheet: tuple[Signal, ...], rng: np.random.Generator) -> Iterator[Array]:
    """An endless sequence of frames."""
    deviation = np.array([s.noise for s in sheet])
    while True:  # in blocks: one draw costs as much as many
        yield from deviation * rng.standard_normal((256, len(sheet)))
