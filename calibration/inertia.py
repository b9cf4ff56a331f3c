"""Inertia of a body by a three-wire pendulum, which the empty plate and three known bodies calibrate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite.calibration.bench import Bench
from granite.calibration.fit import CalibrationFit, FittedKey, Residuals
from granite.calibration.pendulum import SwungBody, fit_pendulum
from granite.calibration.procedure import BenchMeasurement, KnownValue, OperatorStep, on_bench
from granite.calibration.swing import timed_swing
from granite.config.devices.photodiode import Photodiode
from granite.config.errors import InputError, one_of
from granite.config.modules import Body, Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.sim.benches.pendulum import PLATE_KG, PendulumPlant

_TIMER = "photodiode"
#: ticks of a simulated bench, and the length of a swing [s]
_PERIOD_S, _SWING_S = 1e-3, 20.0
#: how exactly somebody can weigh [kg]
_WEIGHED = 5e-5
#: known bodies, as parts of mass and inertia of the part
_BODIES = (0.5, 1.0, 2.0)
#: largest angle of a swing [rad]: the period grows by a sixteenth of its square, and swings differ in it by this part
_LARGEST, _UNEQUAL = 0.0175, 0.15
#: greatest difference of a simulated inertia
_DIFFERS = 0.2


class InertiaProcedure:
    """A body of a module on the plate of a pendulum."""

    def __init__(self, bed: Testbed, name: str | None = None) -> None:
        self.bed = bed
        self._module, self._body = _body_of(bed, name)
        self.of = f"modules.{self._module.name}"
        #: a body that was weighed again, or is another one
        self.fitted_on = (f"{self.of}.bodies.{self._body.name}",)
        timers = list(bed.devices_of(Photodiode))
        self._timer = timers[0] if timers else None
        self.devices = (self._timer or _TIMER,)
        mass, inertia = self._body.mass_kg, float(self._body.inertia_kg_m2)  # type: ignore[arg-type]
        known_bodies = (
            OperatorStep(
                f"put a known body of about {part * inertia:.3g} kg m2 on the middle of the plate and swing it",
                (
                    KnownValue("mass of the body", "kg", round(part * mass, 6)),
                    KnownValue("its inertia", "kg m2", part * inertia),
                ),
                "known",
            )
            for part in _BODIES
        )
        self.steps = (
            OperatorStep(
                "turn the empty plate by 1 degree, not more, and let it swing",
                (KnownValue("mass of the plate", "kg", PLATE_KG),),
                "plate",
            ),
            *known_bodies,
            OperatorStep(
                f"put {self._body.name} on the plate with its mass centre in the middle, and swing it",
                (KnownValue(f"mass of {self._body.name}", "kg", mass),),
                "part",
            ),
        )

    def bench_bed(self) -> Testbed:
        """A photodiode; where the testbed has none, one that can be simulated."""
        if self._timer is not None:
            return on_bench(self.bed, self.devices, {})
        timer = Photodiode(kind="photodiode")
        loop = self.bed.loop.model_copy(update={"period_s": _PERIOD_S})
        simulation = self.bed.simulation.model_copy(update={"physics_step_s": _PERIOD_S})
        with_timer = {"devices": {**self.bed.devices, _TIMER: timer}, "loop": loop, "simulation": simulation}
        return on_bench(self.bed.model_copy(update=with_timer), self.devices, {})

    def measure(self, bench: Bench, step: OperatorStep, known_values: Array) -> BenchMeasurement:
        """The period of the swing and its deviation, then the residual of each pass."""
        index = list(bench.bed.sensors).index(self.devices[0])
        samples = bench.run(lambda k: {}, round(_SWING_S / bench.bed.loop.period_s))
        t = np.array([sample.frames[index].t for sample in samples])
        light = np.array([sample.frames[index].values[0] for sample in samples])
        swing = timed_swing(t, light)
        text = f"period {swing.period:.6f} s ({swing.deviation:.1g}), {len(swing.times)} passes"
        return BenchMeasurement(
            step, known_values, np.concatenate(([swing.period, swing.deviation], swing.residual)), text
        )

    def fit(self, measured: Sequence[BenchMeasurement]) -> CalibrationFit:
        """The inertia of the part, together with that of the plate and the factor of the pendulum."""
        [plate] = [measurement for measurement in measured if measurement.step.subject == "plate"]
        swings = [plate, *(measurement for measurement in measured if measurement.step.subject != "plate")]
        values, covariance = fit_pendulum([_body(swing) for swing in swings], float(plate.known_values[0]), _WEIGHED)
        residuals = tuple(
            Residuals(f"{swing.step.subject} {i}", "pass", np.arange(len(swing.values) - 2.0), swing.values[2:], "s")
            for i, swing in enumerate(swings)
        )
        freedom = sum(len(swing.values) - 5 for swing in swings)
        number = FittedKey(f"{self.of}.bodies.{self._body.name}.inertia_kg_m2", "kg m2", 0.0)
        return CalibrationFit((number,), values, covariance, freedom, len(swings), residuals)

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """An inertia that differs from the file's."""
        key = f"{self.of}.bodies.{self._body.name}.inertia_kg_m2"
        inertia = float(self._body.inertia_kg_m2)  # type: ignore[arg-type]
        return {key: inertia * (1 + float(rng.uniform(-_DIFFERS, _DIFFERS)))}

    def simulated_plant(self, bed: Testbed) -> PendulumPlant:
        """The pendulum."""
        return PendulumPlant(bed)

    def act(self, plant: PendulumPlant, step: OperatorStep, rng: np.random.Generator) -> None:
        """Put the body on the plate and let it go; weights are not quite those that were read."""
        mass, inertia = 0.0, 0.0
        if step.subject == "plate":
            plant.plate_mass = PLATE_KG + _WEIGHED * rng.standard_normal()
        else:
            mass = step.known_values[0].planned + _WEIGHED * rng.standard_normal()
            true = next(b for b in plant.bed.module(self._module.name).bodies if b.name == self._body.name)
            inertia = step.known_values[1].planned if step.subject == "known" else float(true.inertia_kg_m2)  # type: ignore[arg-type]
        plant.swing(mass, inertia, _LARGEST * rng.uniform(0.7, 1.0))


def _body(measurement: BenchMeasurement) -> SwungBody:
    """What swung in a step; that its angle is not known adds to the deviation of its period."""
    period, deviation = measurement.values[:2].tolist()
    deviation = float(np.hypot(deviation, period * _UNEQUAL * _LARGEST**2 / 16))
    if measurement.step.subject == "plate":
        return SwungBody(0.0, 0.0, period, deviation)
    mass, *inertia = measurement.known_values.tolist()
    return SwungBody(mass, inertia[0] if measurement.step.subject == "known" else None, period, deviation)


def _body_of(bed: Testbed, name: str | None) -> tuple[Module, Body]:
    """The planar rigid body of that name; with its module's name before it where several are called so."""
    bodies = {
        bed.layout.name(module, body.name): (module, body)
        for module in bed.modules
        for body in module.bodies
        if isinstance(body.inertia_kg_m2, float) and body.flexible is None
    }
    if name is None:
        raise InputError.missing("--device", f"the body, {one_of('', bodies)}")
    if name not in bodies:
        raise InputError("no such planar rigid body", key="--device", value=name, expected=one_of(name, bodies))
    return bodies[name]
