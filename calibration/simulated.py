"""A procedure on the simulated plant, whose true numbers differ from those of the file."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from granite.calibration.bench import Bench
from granite.calibration.fit import CalibrationFit
from granite.calibration.procedure import BenchMeasurement, OperatorStep, PictureProcedure, Procedure
from granite.config.errors import InputError
from granite.config.loader import plant_of
from granite.config.records import Array
from granite.drivers.corrected import corrected
from granite.drivers.device_set import DeviceSet
from granite.rt.loop.clock import VirtualClock
from granite.sim.lab import simulated_device

NO_MORE: Mapping[str, Any] = MappingProxyType({})


class SimulatedOperator:
    """Does every step on the simulated plant, and accepts what is measured.

    Parameters
    ----------
    procedure, seed
        What is calibrated; the seed draws the true numbers and all noise.
    also
        Further differences of the plant, by key.
    """

    def __init__(self, procedure: Procedure, seed: int, also: Mapping[str, Any] = NO_MORE) -> None:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**31,)))
        #: the plant's own numbers, by key
        self.truth = procedure.draw(rng)
        self._procedure = procedure
        self._rng = rng
        differs = {"simulation.plant": nested({**self.truth, **also}), "seed": seed}
        bed = procedure.bench_bed().with_changes(differs)
        true = plant_of(bed)
        self._plant = plant = procedure.simulated_plant(true)
        bed = bed.model_copy(update={"devices": {n: d for n, d in bed.devices.items() if n in procedure.devices}})
        devices = {
            name: corrected(simulated_device(true, name, plant), name, table, bed)
            for name, table in (bed.sensors | bed.actuators).items()
        }
        pictures = (plant.picture() for _ in count()) if isinstance(procedure, PictureProcedure) else None
        self.bench = Bench(bed, DeviceSet(bed, devices, devices), VirtualClock(), pictures)

    def ready(self, step: OperatorStep) -> Array:
        """Do it; what is known of it."""
        self._procedure.act(self._plant, step, self._rng)
        return np.array([value.planned for value in step.known_values])

    def accepts(self, measured: BenchMeasurement) -> bool:
        """Always."""
        return True

    def retries(self, refusal: InputError) -> bool:
        """Never: nobody is there."""
        return False


class Repetition(NamedTuple):
    """One simulated calibration."""

    fit: CalibrationFit
    truth: Array  #: true values of its numbers

    @property
    def errors(self) -> Array:
        """Of each number, in its standard deviations."""
        return np.asarray((self.fit.values - self.truth) / self.fit.deviation)

    @property
    def spread(self) -> float:
        """Mean square of the normalised error, over its expectation: 1 where the stated uncertainty is right."""
        expected = self.fit.freedom / max(self.fit.freedom - 2, 1)
        return self.fit.distance(self.truth) / len(self.truth) / expected

    @property
    def level(self) -> float:
        """Of the ellipsoid through the truth."""
        return self.fit.level(self.truth)


def repeat(procedure: Procedure, seed: int) -> Repetition:
    """One simulated calibration from its first step to its fit."""
    operator = SimulatedOperator(procedure, seed)
    measured = [procedure.measure(operator.bench, step, operator.ready(step)) for step in procedure.steps]
    fit = procedure.fit(measured)
    return Repetition(fit, np.array([operator.truth[number.key] for number in fit.numbers]))


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by dotted key as tables in tables."""
    tables: dict[str, Any] = {}
    for key, value in values.items():
        here = tables
        *above, last = key.split(".")
        for element in above:
            here = here.setdefault(element, {})
        here[last] = value
    return tables
