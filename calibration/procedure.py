"""The contract of a calibration procedure.

A procedure is built as `Procedure(bed, name)` for a device of a testbed, or for a module. It lists the steps of the
operator, measures through the devices in each of them, and fits numbers to all measurements. To be tried without
hardware it draws true numbers that differ from those of the file, and does the operator's part on the simulated plant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from granite.calibration.bench import Bench
from granite.calibration.fit import CalibrationFit
from granite.config.controller import Safety
from granite.config.errors import InputError, one_of
from granite.config.parts import find, options_of
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.drivers.camera.centroid import Pixels
from granite.sim.benches.bench_plant import BenchPlant

#: no reference and no torques
FREE = options_of("behaviour", find("behaviour", "waypoints"))(kind="waypoints")


class KnownValue(NamedTuple):
    """A number that the operator knows of a step, such as a load; planned, and asked for."""

    name: str
    unit: str
    planned: float


class OperatorStep(NamedTuple):
    """What the operator does before a measurement."""

    instruction: str
    known_values: tuple[KnownValue, ...] = ()
    subject: str = ""  #: for the procedure: the joint, gauge or unit that it is about


class BenchMeasurement(NamedTuple):
    """What came of a step."""

    step: OperatorStep
    known_values: Array  #: as the operator said, in the order of `OperatorStep.known_values`
    values: Array  #: of the procedure's own form
    text: str  #: for the operator


class Procedure(Protocol):
    """How something is calibrated."""

    #: table of the testbed that its file belongs to, such as devices.joint_sensors
    of: str
    #: tables that the fit relies on
    fitted_on: tuple[str, ...]
    #: devices that it reads and commands
    devices: tuple[str, ...]
    steps: tuple[OperatorStep, ...]

    def bench_bed(self) -> Testbed:
        """The testbed as it is measured: without the calibration that is made."""

    def measure(self, bench: Bench, step: OperatorStep, known_values: Array) -> BenchMeasurement:
        """Measure through the devices after the operator has done the step."""

    def fit(self, measured: Sequence[BenchMeasurement]) -> CalibrationFit:
        """The numbers; `InputError` where the measurements do not determine them."""

    def draw(self, rng: np.random.Generator) -> dict[str, float]:
        """True numbers of a simulated plant, by key; they differ from the file's."""

    def simulated_plant(self, bed: Testbed) -> Any:
        """What the simulated devices measure and move."""

    def act(self, plant: Any, step: OperatorStep, rng: np.random.Generator) -> None:
        """Do the step on the simulated plant, as exactly as an operator can."""


@runtime_checkable
class PictureProcedure(Protocol):
    """A procedure that measures in pictures of a camera."""

    def pictures(self) -> Iterator[Pixels]:
        """Pictures of the real camera, each taken when it is asked for."""


class DeviceProcedure:
    """What procedures on a device have in common."""

    kind: ClassVar[type]

    def __init__(self, bed: Testbed, name: str | None = None) -> None:
        self.bed, self.name = bed, device_of(bed, self.kind, name)
        self.table: Any = bed.devices[self.name]
        self.of = f"devices.{self.name}"
        self.fitted_on: tuple[str, ...] = (self.of,)
        self.devices: tuple[str, ...] = (self.name,)

    def simulated_plant(self, bed: Testbed) -> Any:
        """A plant that is set by hand."""
        return BenchPlant(bed)


def device_of(bed: Testbed, kind: type, name: str | None) -> str:
    """The device of a kind: the one that is named, or the only one; `InputError` where there is none or another."""
    names = list(bed.devices_of(kind))
    words = " ".join(_words(kind.__name__))
    if name is not None:
        if name not in bed.devices:
            raise InputError("no such device", key="--device", value=name, expected=one_of(name, bed.devices))
        if name not in names:
            raise InputError(f"no device of {words}", key="--device", value=name, expected=one_of(name, names))
        return name
    if not names:
        raise InputError(f"the testbed has no {words}", key="devices", expected=f"a device of {words}")
    if len(names) > 1:
        raise InputError(f"{len(names)} devices of {words}", key="--device", expected=f"one of {', '.join(names)}")
    return names[0]


def mean_text(values: Array, units: Iterable[str], names: Iterable[str], frames: Array) -> str:
    """Mean reading of each signal with its deviation, for the operator."""
    spread = frames.std(axis=0) / np.sqrt(len(frames))
    parts = [f"{n} {v:.6g} {u} ({s:.1g})" for n, v, u, s in zip(names, values, units, spread, strict=True)]
    return f"{', '.join(parts)}, mean of {len(frames)} frames"


def on_bench(bed: Testbed, devices: Iterable[str], keys: Mapping[str, Any], *, controlled: bool = False) -> Testbed:
    """The testbed with these devices alone and other values, without calibrations.

    Without a controller, too, unless one is asked for: a testbed with thrusters must have one.
    """
    kept = {name: bed.devices[name].model_copy(update={"calibration": ()}) for name in devices}
    modules = tuple(module.model_copy(update={"calibration": ()}) for module in bed.modules)
    simulation = bed.simulation.model_copy(update={"plant": {}, "events": ()})
    lean: dict[str, Any] = {"devices": kept, "modules": modules, "simulation": simulation}
    if not controlled:
        lean["controller"] = None
    return bed.model_copy(update={**lean, "behaviour": FREE, "safety": Safety(), "tuning": None}).with_changes(keys)


def _words(name: str) -> list[str]:
    """The words of a class name."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).split()
