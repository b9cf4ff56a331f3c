"""`granite plan`: the planned path of a testbed, as numbers or as a file for the behaviour `follow`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated

import typer

from granite.cli.arguments import AsJson, Bed, Overrides, Overwrite, named
from granite.cli.screen import err, out, print_json, working
from granite.config.errors import InputError
from granite.config.loader import load


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
