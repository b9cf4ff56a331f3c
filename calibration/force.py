"""Force gauges: cross-talk matrix, offset and non-linearity of each gauge, from known loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from granite.calibration.bench import Bench
from granite.calibration.fit import CalibrationFit
from granite.calibration.gauges import draw_responses, fit_responses
from granite.calibration.procedure import (
    BenchMeasurement,
    DeviceProcedure,
    KnownValue,
    OperatorStep,
    mean_text,
    on_bench,
)
from granite.config.devices.force_gauges import AXES, ForceGauge, ForceGauges
from granite.config.devices.gauge import Signal
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.sim.benches.bench_plant import BenchPlant

#: loads along one axis, and along two at once, as parts of the range: cross-talk must not leave it
_ALONE, _TOGETHER = (0.4, 0.8), 0.5
#: how long each is read [s]
_READ_S = 0.5
#: how exactly somebody can apply a load, as a part of the range
_LOADED = 1e-4


class ForceProcedure(DeviceProcedure):
    """Every gauge under loads along each axis and along each two."""

    kind = ForceGauges

    def __init__(self, bed: Testbed, name: str | None = None) -> None:
        super().__init__(bed, name)
        self.steps = tuple(step for unit in self.table.units for step in self._steps(unit))

    def bench_bed(self) -> Testbed:
        """Gauges that read without correction."""
        return on_bench(self.bed, self.devices, {f"{self.of}.response": {}, f"{self.of}.simulated": {}})

    def measure(self, bench: Bench, step: OperatorStep, known_values: Array) -> BenchMeasurement:
        """The mean reading of every component of the gauge."""
        signals = self._signals(step.subject)
        names = [signal.name for signal in self.table.sheet(self.bed)]
        columns = [names.index(signal.name) for signal in signals]
        frames = bench.read(self.name, _READ_S)[:, columns]
        mean = frames.mean(axis=0)
        text = mean_text(mean, [s.unit for s in signals], [s.name for s in signals], frames)
        return BenchMeasurement(step, known_values, mean, text)

    def fit(self, measured: Sequence[BenchMeasurement]) -> CalibrationFit:
        """Offset, gains and non-linearity of every component."""
        gauges = []
        for unit in self.table.units:
            of_unit = [measurement for measurement in measured if measurement.step.subject == unit.contact]
            loads = np.array([measurement.known_values for measurement in of_unit])
            readings = np.array([measurement.values for measurement in of_unit])
            signals = self._signals(unit.contact)
            size = np.linalg.norm(loads / np.array([signal.range for signal in signals]), axis=1)
            gauges.append((signals, loads, readings, size))
        return fit_responses(self.of, gauges, "load, as a part of the range", "loads along every axis")

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """Responses of all gauges."""
        return draw_responses(self.of, [self._signals(unit.contact) for unit in self.table.units], rng)

    def act(self, plant: BenchPlant, step: OperatorStep, rng: np.random.Generator) -> None:
        """Load the gauge."""
        unit = next(unit for unit in self.table.units if unit.contact == step.subject)
        components = {}
        axes = self.table.measured_axes(self.bed, unit)
        for axis, load, signal in zip(axes, step.known_values, self._signals(unit.contact), strict=True):
            components[axis] = load.planned + _LOADED * signal.range * rng.standard_normal()
        plant.load(self.table.contact_of(self.bed, unit), components, AXES["planar" if self.bed.planar else "spatial"])

    def _steps(self, unit: ForceGauge) -> Iterator[OperatorStep]:
        signals = self._signals(unit.contact)
        for parts in _loads(len(signals)):
            planned = [round(part * signal.range, 6) for part, signal in zip(parts, signals, strict=True)]
            axes = self.table.measured_axes(self.bed, unit)
            words = [f"{a} {v:g} {s.unit}" for a, v, s in zip(axes, planned, signals, strict=True) if v]
            instruction = f"load gauge {unit.contact} with {', '.join(words)}" if words else f"unload {unit.contact}"
            loads = tuple(
                KnownValue(f"{unit.contact} {a}", s.unit, v) for a, v, s in zip(axes, planned, signals, strict=True)
            )
            yield OperatorStep(instruction, loads, unit.contact)

    def _signals(self, contact: str) -> list[Signal]:
        i = [unit.contact for unit in self.table.units].index(contact)
        return [signal for signal in self.table.sheet(self.bed) if signal.gauge == i]


def _loads(n: int) -> Iterator[list[float]]:
    """None, along each axis, and along each two, as parts of the range."""
    yield [0.0] * n
    for i in range(n):
        for part in (*_ALONE, *(-part for part in _ALONE)):
            yield [part * (i == j) for j in range(n)]
    for i, j in combinations(range(n), 2):
        for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            yield [_TOGETHER * (a * (k == i) + b * (k == j)) for k in range(n)]
