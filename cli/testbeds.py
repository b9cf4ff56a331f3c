"""Commands about a testbed before it runs: `list`, `show`, `modes`, `plan`, `schema`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Annotated

import typer

from granite.cli.arguments import AsJson, Bed, Overrides, Overwrite, named
from granite.cli.screen import err, out, print_json, working
from granite.config.errors import InputError
from granite.config.loader import file_of, load
from granite.config.whole_file import write_whole


def list_beds(
    whole: Annotated[
        bool, typer.Option("--all", help="validation systems too, and what each variant is and controls")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The testbeds that come with Granite, those for a first run on top; a variant is typed as BED/VARIANT."""
    from granite.cli.report.beds import beds_json, beds_tables, first_tables
    from granite.config.catalogue import catalogue
    from granite.views.table import put

    groups = catalogue()
    if as_json:
        print_json(beds_json(groups))
    else:
        put(out, beds_tables(groups) if whole else first_tables(groups))
        out.print("Run one: granite sim free-flyer, or a variant: granite sim free-flyer/ideal", soft_wrap=True)
        if not whole:
            out.print("What each variant is, and the validation systems: granite list --all", soft_wrap=True)


def show(
    bed: Bed,
    overrides: Overrides = None,
    as_json: AsJson = False,
    whole: Annotated[bool, typer.Option("--all", help="responses to faults and gains that may change, too")] = False,
    states: Annotated[bool, typer.Option("--states", help="draw the state machine of its behaviour")] = False,
) -> None:
    """Describe a testbed: modules, degrees of freedom, devices, gains, and its source."""
    from granite.cli.report.testbed import bed_tables
    from granite.views.table import put

    testbed = load(bed, overrides or ())
    if states:
        from granite.cli.report.states import drawing, machine_of, states_json, states_table

        with named(bed, testbed):
            notes = machine_of(testbed)
        if as_json:
            print_json(states_json(notes))
        else:
            put(out, [states_table(testbed, notes)])
            out.print(drawing(notes), soft_wrap=True, markup=False, highlight=False)
    elif as_json:
        print_json(testbed.model_dump(mode="json"))
    else:
        with named(bed, testbed):
            tables = list(bed_tables(testbed, whole))
        put(out, tables)
        if testbed.note:
            out.print(f"note: {' '.join(testbed.note.split())}\n")
        out.print(f"file: {file_of(bed)}", soft_wrap=True)


def modes(
    bed: Bed,
    overrides: Overrides = None,
    closed: Annotated[
        str | None,
        typer.Option(metavar="CONTACTS", help="which are closed, a,b,c or none; default: those of the start"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Modes of the testbed linearised about its start, all forces at zero: frequencies, damping and shapes."""
    from granite.cli.report.modes import modes_table
    from granite.mrds.initial_vibration import initial_modes
    from granite.rt.process.status_line import preparing
    from granite.views.table import put

    testbed = load(bed, overrides or ())
    names = None if closed is None else [name for name in closed.split(",") if name not in ("", "none")]
    with named(bed, testbed), preparing(not as_json and err.is_terminal):
        vibration = initial_modes(testbed, names)
    if as_json:
        print_json(vibration.as_json())
    else:
        put(out, [modes_table(testbed, vibration)])
        for warning in filter(None, (vibration.complaint, vibration.coarseness)):
            out.print(warning, soft_wrap=True)


def schema(
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="the schema, *.json; default: the screen")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """The JSON Schema of a testbed: with it an editor completes keys, explains them and marks wrong ones."""
    from granite.config.schema import bed_schema

    if file is None:
        print_json(bed_schema())
        return
    with write_whole("schema", file, (".json",), overwrite) as unfinished:
        unfinished.write_text(json.dumps(bed_schema(), indent=2) + "\n", encoding="utf-8")
    out.print(f"schema: {file}", soft_wrap=True)
    out.print(f"use it: the first line of a testbed is  #:schema {file.resolve()}", soft_wrap=True)


def plan(
    bed: Bed,
    to: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="a CSV file with the path, for behaviour follow")
    ] = None,
    overrides: Overrides = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Plan the path of a testbed whose behaviour is `planned`: impulse, duration, and the guess that led to it."""
    from granite.controllers.behaviours.planned import planned, samples_of_path
    from granite.views.table import table

    testbed = load(bed, overrides or ())
    if to is not None and to.exists() and not overwrite:
        raise InputError(f"'{to}' exists", expected="another file, or --overwrite")
    with named(bed, testbed), working("planning"):
        plan = planned(testbed, report=lambda sentence: None if as_json else err.print(f"granite: {sentence}"))
    if to is not None:
        columns = samples_of_path(testbed, plan.path, bed).columns
        with to.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([column.key for column in columns])
            writer.writerows(zip(*(column.values for column in columns), strict=True))
    numbers = {"impulse_n_s": plan.impulse, "duration_s": plan.path.end, "guess": plan.guess}
    if as_json:
        print_json(numbers)
        return
    rows = [("impulse", f"{plan.impulse:.2f} N s"), ("duration", f"{plan.path.end:.2f} s"), ("guess", plan.guess)]
    out.print(table("Path", ("what", "value"), [*rows, *([("file", str(to))] if to else [])]))
