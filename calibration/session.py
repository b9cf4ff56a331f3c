"""A calibration from its first step to the content of its file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from importlib import import_module
from typing import Any, Protocol

from granite.calibration import FLOWN, KINDS
from granite.calibration.bench import Bench
from granite.calibration.fit import COVERAGE, CalibrationFit
from granite.calibration.flight_calibration import FlightCalibration
from granite.calibration.procedure import BenchMeasurement, OperatorStep, PictureProcedure, Procedure
from granite.config.calibration import fingerprint
from granite.config.errors import GraniteError, InputError, one_of
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.log import Log
from granite.rt.devices import build_subset
from granite.rt.loop.clock import RealClock
from granite.rt.process.posix_signals import StopSignals


class BenchOperator(Protocol):
    """Who does what a procedure asks for, and judges what was measured."""

    def ready(self, step: OperatorStep) -> Array:
        """Do the step; the numbers that are known of it."""

    def accepts(self, measured: BenchMeasurement) -> bool:
        """Whether it may be used; else the step is repeated."""

    def retries(self, refusal: InputError) -> bool:
        """Whether a step is repeated that could not be measured; else the calibration ends."""


def find_procedure(kind: str, bed: Testbed, device: str | None = None) -> Procedure:
    """The procedure of a kind on a testbed; `InputError` where there is none, or the testbed lacks the device."""
    if kind in FLOWN and kind not in KINDS:
        raise InputError.missing("--log", f"the log of a flight, of which {kind} are calibrated")
    if kind not in KINDS:
        raise InputError("no such calibration", key="KIND", value=kind, expected=one_of(kind, {**KINDS, **FLOWN}))
    module, _, name = KINDS[kind].partition(":")
    procedure: Procedure = getattr(import_module(f"granite.calibration.{module}"), name)(bed, device)
    return procedure


def find_flight(kind: str, bed: Testbed, log: Log) -> FlightCalibration:
    """The calibration of a kind from a log; `InputError` where there is none, or the log does not fit."""
    if kind not in FLOWN:
        expected = f"none, except for {' and '.join(FLOWN)}"
        raise InputError("not used here", key="--log", expected=expected)
    module, _, name = FLOWN[kind].partition(":")
    flight: FlightCalibration = getattr(import_module(f"granite.calibration.{module}"), name)(bed, log)
    return flight


def carry_out(procedure: Procedure, bench: Bench, operator: BenchOperator) -> CalibrationFit:
    """Every step, each until its measurement is accepted, and the fit."""
    accepted = []
    for step in procedure.steps:
        while True:
            try:
                known_values = operator.ready(step)
                bench.resume()
                measured = procedure.measure(bench, step, known_values)
            except InputError as refusal:
                if not operator.retries(refusal):
                    raise
                continue
            if operator.accepts(measured):
                break
        accepted.append(measured)
    return procedure.fit(accepted)


@contextmanager
def real_bench(procedure: Procedure) -> Iterator[Bench]:
    """The real devices of a procedure, open; their actuators are stopped on every way out."""
    devices, subset = build_subset(procedure.bench_bed(), procedure.devices, ())
    with StopSignals(paced=True, pass_on=False) as signals:
        devices.open()
        pictures = procedure.pictures() if isinstance(procedure, PictureProcedure) else None
        bench = Bench(subset, devices, RealClock(), pictures, signals)
        try:
            yield bench
        finally:
            signals.patience = math.inf
            unconfirmed = devices.stop(bench.t, paced=True)
            devices.close(paced=True)
            if unconfirmed:
                words = ", ".join(f"{name} ({why})" for name, why in unconfirmed.items())
                raise GraniteError(f"stop not confirmed: {words}")


class Fittable(Protocol):
    """What a file says of the procedure that made it."""

    of: str
    fitted_on: tuple[str, ...]


def file_content(
    kind: str, procedure: Fittable, bed: Testbed, fit: CalibrationFit, day: date, granite: str, simulated: bool
) -> dict[str, Any]:
    """The content of the calibration's file."""
    content = bed.model_dump(mode="json")
    values = _file_values(fit)
    keys = [value["key"] for value in values]
    return {
        "kind": kind,
        "of": procedure.of,
        "date": day.isoformat(),
        "testbed": bed.name,
        "granite": granite,
        "simulated": simulated,
        "samples": fit.samples,
        "coverage": COVERAGE,
        "fitted_on": {table: fingerprint(content, table, keys) for table in procedure.fitted_on},
        "values": values,
    }


def _file_values(fit: CalibrationFit) -> list[dict[str, Any]]:
    """Key, value, uncertainty and unit of each number; the numbers of a list stand together."""
    fitted = zip(fit.numbers, fit.values.tolist(), fit.deviation.tolist(), fit.expanded.tolist(), strict=True)
    entries: dict[str, dict[str, Any]] = {}
    lists: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, value, deviation, expanded in (*fitted, *((number, value, 0.0, 0.0) for number, value in fit.kept)):
        entry = {"value": max(number.least, value), "deviation": deviation, "expanded": expanded, "unit": number.unit}
        above, _, last = number.key.rpartition(".")
        if last.isdigit():
            lists.setdefault(above, []).append((int(last), entry))
            entries[above] = {}
        else:
            entries[number.key] = entry
    for key, elements in lists.items():
        inside = [entry for _, entry in sorted(elements, key=lambda element: element[0])]
        entries[key] = {part: [entry[part] for entry in inside] for part in ("value", "deviation", "expanded")}
        entries[key]["unit"] = ", ".join(dict.fromkeys(entry["unit"] for entry in inside))
    return [{"key": key, **entry} for key, entry in entries.items()]
