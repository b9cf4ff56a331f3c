"""`granite identify`: mass, mass centre and inertia of a vehicle from the log of a free flight."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from granite.config.errors import InputError
from granite.rt.cli.arguments import AsJson, LogFile, Overwrite
from granite.rt.cli.logs import end_if_incomplete
from granite.rt.cli.outputs import refuse_output
from granite.rt.cli.screen import out, print_json


def identify(
    log: LogFile,
    path: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="the numbers, *.toml; default: LOG-inertia.toml beside the log"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="plot the residuals, *.png, *.svg or *.pdf")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find mass, mass centre and inertia of the base from its firings and poses, with their uncertainty."""
    from granite.rt.identification.fit import identify_base
    from granite.rt.identification.flight import expected_base, flight_of
    from granite.rt.logs.log import read_log
    from granite.rt.plots.figure_file import SUFFIXES
    from granite.rt.plots.residuals import plot_residuals
    from granite.rt.report.identification import identified_content, identified_lines, identified_table
    from granite.rt.report.table import put
    from granite.tuning.toml_text import toml_text

    recorded = read_log(log)
    path = path or log.with_name(f"{log.stem}-inertia.toml")
    refuse_output("file", path, (".toml",), overwrite)
    if plot is not None:
        refuse_output("plot", plot, SUFFIXES, overwrite)
    try:
        expected = expected_base(recorded.bed)
        found = identify_base(flight_of(recorded), expected)
    except InputError as error:
        raise error.within(file=str(log)) from None
    content = identified_content(recorded.bed, log, found)
    if plot is not None:
        plot_residuals(found, log.name, plot, overwrite)
    _write(path, toml_text(content))
    if as_json:
        print_json(content)
    else:
        put(out, [identified_table(found, expected)])
        for line in identified_lines(found, expected):
            out.print(line, soft_wrap=True)
        out.print(f"numbers: {path}", soft_wrap=True)
        if plot is not None:
            out.print(f"residuals: {plot}", soft_wrap=True)
    end_if_incomplete(log, recorded)


def _write(path: Path, text: str) -> None:
    """The whole file, or none."""
    unfinished = path.with_name(f".granite-{os.getpid()}.toml")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        raise InputError(f"file '{path}' can't be written: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)
