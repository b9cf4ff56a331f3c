"""Strain gauges: reading per strain, offset and non-linearity of each, from known loads at the tip of its link.

With the joints held, a force F across the tip bends the link by a = K^-1 J' F, and a gauge at x has the strain
-d w''(x), which is linear in a. The stiffness is that of the model.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from granite.config.devices.gauge import Signal
from granite.config.devices.strain_gauges import StrainGauge, StrainGauges
from granite.config.errors import InputError
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.flexible.curvature import curvature
from granite.mrds.tip_load import modes_per_newton
from granite.sim.benches.bench_plant import BenchPlant

#: loads as parts of the one that bends to the end of the range
_PARTS = (-0.85, -0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.85)
#: how long each is read [s], and how exactly somebody can load a tip, as a part of the largest load
_READ_S, _LOADED = 0.5, 1e-4
#: bending, as a part of the length, up to which it is linear
_BENT = 0.1


class StrainProcedure(DeviceProcedure):
    """Every flexible link with gauges under loads at its tip."""

    kind = StrainGauges

    def __init__(self, bed: Testbed, name: str | None = None) -> None:
        super().__init__(bed, name)
        #: gauges by their link and axis
        self._bent: dict[str, list[StrainGauge]] = {}
        for unit in self.table.units:
            self._bent.setdefault(f"{unit.link} {unit.axis}", []).append(unit)
        #: amplitudes of modes per newton, by link and axis
        self._modes = {link: self._per_newton_of(units[0]) for link, units in self._bent.items()}
        #: strain of each gauge per newton
        self._strain = {unit.name: self._per_newton(unit) for unit in self.table.units}
        modules = dict.fromkeys(self._module(unit).name for unit in self.table.units)
        self.fitted_on = (self.of, *(f"modules.{module}.bodies" for module in modules))
        self.steps = tuple(
            OperatorStep(
                f"hold the joints and load the tip of {link.split()[0]} along {link.split()[1]} with {load:.4g} N",
                (KnownValue(f"load along {link.split()[1]}", "N", round(load, 6)),),
                link,
            )
            for link, units in self._bent.items()
            for load in (np.array(_PARTS) * self._largest(units)).tolist()
        )

    def bench_bed(self) -> Testbed:
        """Gauges that read without correction."""
        return on_bench(self.bed, self.devices, {f"{self.of}.response": {}, f"{self.of}.simulated": {}})

    def measure(self, bench: Bench, step: OperatorStep, known_values: Array) -> BenchMeasurement:
        """The mean reading of every gauge of the link."""
        signals = self._signals(step.subject)
        names = [signal.name for signal in self.table.sheet(self.bed)]
        frames = bench.read(self.name, _READ_S)[:, [names.index(signal.name) for signal in signals]]
        mean = frames.mean(axis=0)
        text = mean_text(mean, ["1"] * len(signals), [signal.name for signal in signals], frames)
        return BenchMeasurement(step, known_values, mean, text)

    def fit(self, measured: Sequence[BenchMeasurement]) -> CalibrationFit:
        """The response of every gauge."""
        gauges = []
        for link, units in self._bent.items():
            of_link = [measurement for measurement in measured if measurement.step.subject == link]
            loads = np.array([measurement.known_values[0] for measurement in of_link])
            readings = np.array([measurement.values for measurement in of_link])
            if len(np.unique(loads)) < 4:
                few = f"{len(np.unique(loads))} different loads of {link.split()[0]}"
                raise InputError(few, key=self.of, expected="4 or more, to both sides")
            for i, unit in enumerate(units):
                strain = (loads * self._strain[unit.name])[:, None]
                gauges.append(([self._signals(link)[i]], strain, readings[:, i : i + 1], loads))
        return fit_responses(self.of, gauges, "load at the tip [N]", "loads to both sides of every link")

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """Responses of all gauges."""
        return draw_responses(self.of, [[s] for link in self._bent for s in self._signals(link)], rng)

    def act(self, plant: BenchPlant, step: OperatorStep, rng: np.random.Generator) -> None:
        """Load the tip."""
        units = self._bent[step.subject]
        force = step.known_values[0].planned + _LOADED * self._largest(units) * rng.standard_normal()
        plant.bend(self._module(units[0]), force * self._modes[step.subject])

    def _signals(self, link: str) -> list[Signal]:
        names = [f"{unit.name}_strain" for unit in self._bent[link]]
        return [signal for signal in self.table.sheet(self.bed) if signal.name in names]

    def _largest(self, units: Sequence[StrainGauge]) -> float:
        """The load [N] that brings the first of these gauges to the end of its range, or bends the link too much."""
        module = self._module(units[0])
        body = _body(self.bed, module, units[0])
        [link] = [candidate.flexible for candidate in module.bodies if candidate.name == body]
        assert link is not None
        # Shapes are 1 at the tip or less, so that amplitudes bound the deflection.
        deflection = float(np.abs(self._modes[f"{units[0].link} {units[0].axis}"]).sum())
        strain = max(abs(self._strain[unit.name]) for unit in units)
        return float(min(self.table.range_strain / strain, _BENT * link.length_m / deflection))

    def _per_newton(self, unit: StrainGauge) -> float:
        module = self._module(unit)
        modes = self._modes[f"{unit.link} {unit.axis}"]
        row = curvature(self.bed.layout, unit.link, unit.axis, unit.position_m)[self.bed.layout.u[module.name]]
        strain = -unit.distance_m * float(row[len(row) - len(modes) :] @ modes)
        if not strain:
            raise InputError(f"a load at the tip does not strain gauge {unit.name}", key=self.of, expected="one nearer")
        return strain

    def _per_newton_of(self, unit: StrainGauge) -> Array:
        module = self._module(unit)
        return modes_per_newton(module, _body(self.bed, module, unit), unit.axis)

    def _module(self, unit: StrainGauge) -> Module:
        return next(m for m in self.bed.modules if any(_is(self.bed, m, b.name, unit) for b in m.bodies))


def _body(bed: Testbed, module: Module, unit: StrainGauge) -> str:
    return next(body.name for body in module.bodies if _is(bed, module, body.name, unit))


def _is(bed: Testbed, module: Module, body: str, unit: StrainGauge) -> bool:
    return bed.layout.name(module, body) == unit.link
