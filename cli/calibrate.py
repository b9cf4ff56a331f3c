"""`granite calibrate`: numbers of a testbed, measured step by step, fitted and written into a dated file."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from granite.calibration import FLOWN, KINDS
from granite.cli.arguments import AsJson, Bed, Overrides, named, simulated_by
from granite.cli.screen import err, out, print_json
from granite.config.calibration import day
from granite.config.errors import InputError
from granite.config.loader import file_of, load
from granite.config.whole_file import refuse_output, write_whole

if TYPE_CHECKING:
    from granite.calibration.bench import Bench
    from granite.calibration.flight_calibration import FlightCalibration
    from granite.calibration.procedure import BenchMeasurement, KnownValue, OperatorStep, Procedure
    from granite.calibration.simulated import SimulatedOperator
    from granite.config.records import Array
    from granite.config.testbed import Testbed


def calibrate(
    bed: Bed,
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"{', '.join({**KINDS, **FLOWN})}")],
    device: Annotated[
        str | None, typer.Option("--device", metavar="NAME", help="which device, or of inertia which body")
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="on the simulated plant, whose numbers differ from the file's")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", help="of --simulate: draws the plant's numbers", min=0)] = 1,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="LOG", help="of inertia, table and residuals: from a flight's log")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SOURCE",
            help="of camera: its number, a folder, a video or shared:NAME; default: its driver",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="accept every measurement without asking")] = False,
    path: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="*.toml; default: calibrations/KIND[-NAME]-DATE.toml")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="the residuals, *.png; default: beside --out")
    ] = None,
    on: Annotated[str | None, typer.Option("--date", metavar="DAY", help="of the file; default: today")] = None,
    overrides: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Measure numbers of a testbed step by step, fit them with their uncertainty, and write a dated file."""
    from granite.calibration.residual_plots import plot_calibration
    from granite.calibration.session import carry_out, file_content, find_procedure
    from granite.cli.report.calibration import calibration_table
    from granite.rt.process.provenance import provenance
    from granite.tuning.toml_text import toml_text
    from granite.views.plots.figure_file import SUFFIXES
    from granite.views.table import put

    today = date.today() if on is None else day(on)
    testbed = load(bed, overrides or [])
    with named(bed, testbed), simulated_by("--simulate"):
        flight = _flight(kind, bed, testbed, log, seed if simulate else None)
        procedure: Any = flight or find_procedure(kind, testbed, device)
        if source is not None:
            _take_from(procedure, source, simulate)
        made = path is None and _make_folder(bed)
        stem = "-".join((kind, *([device] if device else []), today.isoformat()))
        path = path or _folder(bed) / f"{stem}.toml"
        plot = plot or path.with_suffix(".png")
        try:
            for what, file, suffixes in (("file", path, (".toml",)), ("plot", plot, SUFFIXES)):
                if file.exists():
                    raise InputError(f"{what} '{file}' exists: expected a new name by --out")
                refuse_output(what, file, suffixes, False)
            truth = None
            if flight is not None:
                fit, is_simulated = flight.fit(), flight.is_simulated
            else:
                with _operator(procedure, simulate, seed, yes) as operator:
                    fit, truth, is_simulated = carry_out(procedure, operator.bench, operator), operator.truth, simulate
            content = file_content(kind, procedure, testbed, fit, today, provenance()["granite"], is_simulated)
            plot_calibration(fit, f"{testbed.name}, {kind}, {today.isoformat()}", plot)
            with write_whole("file", path, (".toml",), overwrite=False) as unfinished:
                unfinished.write_text(toml_text(content), encoding="utf-8")
        except BaseException:
            if made:
                with contextlib.suppress(OSError):
                    path.parent.rmdir()  # refused by the system unless it is empty
            raise
    if as_json:
        print_json({**content, "notes": list(fit.notes)})
        return
    put(out, [calibration_table(kind, fit, testbed, truth)])
    for note in fit.notes:
        out.print(note, soft_wrap=True)
    out.print(f"numbers: {path}", soft_wrap=True)
    out.print(f"residuals: {plot}", soft_wrap=True)
    family, _, name = str(content["of"]).partition(".")
    where = {"devices": f"[devices.{name}]", "modules": f"the module {name}"}.get(family, f"[{content['of']}]")
    out.print(f'use them: calibration = "{_relative(path, bed)}" in {where}', soft_wrap=True)


def _flight(kind: str, bed: str, testbed: Testbed, log: Path | None, seed: int | None) -> FlightCalibration | None:
    """The calibration by a flight: one that was recorded, or of a table in the simulated lab of a seed; else None."""
    from granite.calibration.session import find_flight
    from granite.calibration.table import FlownTable, simulated_survey, survey_of
    from granite.logs.log import read_log

    if log is not None:
        return find_flight(kind, testbed, read_log(log))
    if kind != "table":
        return None
    if seed is None:
        survey = survey_of(testbed)
        flown = f"granite run {bed} --set behaviour.kind=survey --set loop.duration_s={survey.loop.duration_s:.0f}"
        raise InputError.missing("--log", f"the log of a survey, {flown}, or --simulate")
    return FlownTable(testbed, simulated_survey(testbed, seed))


def _take_from(procedure: object, source: str, simulate: bool) -> None:
    """Take the pictures of a camera from another source."""
    from granite.calibration.camera import CameraProcedure

    if not isinstance(procedure, CameraProcedure) or simulate:
        raise InputError("not used here", key="--from", value=source, expected="none, except for a real camera")
    procedure.source = source


class _AtTerminal:
    """The operator at the terminal: does each step, says what is known of it, accepts or repeats."""

    truth: dict[str, float] | None = None

    def __init__(self, procedure: Procedure, bench: Bench, yes: bool, plant: SimulatedOperator | None = None) -> None:
        self.bench, self._yes, self._plant = bench, yes, plant
        self._n, self._done = len(procedure.steps), 0
        if plant is not None:
            self.truth = plant.truth

    def ready(self, step: OperatorStep) -> Array:
        """Say what to do, and ask what is known of it."""
        err.print(f"step {self._done + 1} of {self._n}: {step.instruction}", soft_wrap=True)
        if self._plant is not None:
            return self._plant.ready(step)
        if not step.known_values:
            _typed("  done? [Enter]: ")
        return np.array([_number(known) for known in step.known_values])

    def accepts(self, measured: BenchMeasurement) -> bool:
        """Show it, and ask."""
        err.print(f"  {measured.text}", soft_wrap=True)
        # Nobody has to be asked about the simulated plant where nobody is there.
        asks = not self._yes and (self._plant is None or sys.stdin.isatty())
        accepted = not asks or _is_accepted()
        self._done += accepted
        return accepted

    def retries(self, refusal: InputError) -> bool:
        """Ask somebody at a real bench; elsewhere the calibration ends."""
        if self._yes or self._plant is not None or not sys.stdin.isatty():
            return False
        err.print(f"  {refusal}", soft_wrap=True)
        return _typed("  repeat? [Enter], or q to end: ").strip().lower() != "q"


@contextlib.contextmanager
def _operator(procedure: Procedure, simulate: bool, seed: int, yes: bool) -> Iterator[_AtTerminal]:
    from granite.calibration.session import real_bench
    from granite.calibration.simulated import SimulatedOperator

    if simulate:
        plant = SimulatedOperator(procedure, seed)
        yield _AtTerminal(procedure, plant.bench, yes, plant)
        return
    with real_bench(procedure) as bench:
        yield _AtTerminal(procedure, bench, yes)


def _is_accepted() -> bool:
    """Ask until the answer is one of both; in a pipe another one is refused."""
    while (typed := _typed("  accept? [Enter], or r to repeat: ").strip().lower()) not in ("", "y", "yes", "r"):
        if not sys.stdin.isatty():
            raise InputError(key="accept?", value=typed, expected="nothing, or r to repeat")
        err.print("  expected Enter, or r to repeat")
    return typed != "r"


def _number(known: KnownValue) -> float:
    """Ask for a number; again at a terminal, while in a pipe another answer is refused."""
    while True:
        typed = _typed(f"  {known.name} [{known.unit}], Enter for {known.planned:g}: ").strip()
        if not typed:
            return known.planned
        try:
            if np.isfinite(number := float(typed)):
                return number
        except ValueError:
            pass
        if not sys.stdin.isatty():
            raise InputError(key=known.name, value=typed, expected=f"a number [{known.unit}]")
        err.print(f"  expected a number [{known.unit}]")


def _typed(question: str) -> str:
    try:
        return input(question)
    except EOFError:
        expected = "an answer; --yes accepts every measurement"
        raise InputError("no answer", key=question.strip(" :"), expected=expected) from None


def _folder(bed: str) -> Path:
    """Where calibrations of a testbed are kept: beside its file, or here where it comes with Granite."""
    return (file_of(bed).parent if ".toml" in bed else Path()) / "calibrations"


def _make_folder(bed: str) -> bool:
    folder = _folder(bed)
    if folder.exists():
        return False
    try:
        folder.mkdir()
    except OSError as error:
        raise InputError(f"folder '{folder}' can't be made: {error.strerror}, expected a file by --out") from None
    return True


def _relative(path: Path, bed: str) -> str:
    return os.path.relpath(path, file_of(bed).parent) if ".toml" in bed else str(path)
