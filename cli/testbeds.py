"""Commands about a testbed before it runs: `list`, `show`, `modes`."""

from __future__ import annotations

from typing import Annotated

import typer

from granite.cli.arguments import AsJson, Bed, Overrides, named
from granite.cli.screen import err, out, print_json
from granite.config.loader import file_of, load


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
