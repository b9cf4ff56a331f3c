"""`granite identify`: inertia or thrusts of a vehicle from the log of a free flight."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from granite.cli.arguments import AsJson, LogFile, Overwrite
from granite.cli.logs import end_if_incomplete
from granite.cli.screen import out, print_json
from granite.config.errors import InputError
from granite.config.whole_file import refuse_output, write_whole

if TYPE_CHECKING:
    from rich.table import Table

    from granite.calibration.identification.motion_fit import Fit
    from granite.logs.log import Log


def identify(
    log: LogFile,
    thrusters: Annotated[
        bool, typer.Option("--thrusters", help="the thrust of each thruster, with mass and inertia of the file")
    ] = False,
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
    """Find mass, mass centre and inertia of the base, or its thrusts, from firings and poses, with uncertainty."""
    from granite.calibration.residual_plots import plot_residuals
    from granite.logs.log import read_log
    from granite.tuning.toml_text import toml_text
    from granite.views.plots.figure_file import SUFFIXES
    from granite.views.table import put

    recorded = read_log(log)
    path = path or log.with_name(f"{log.stem}-{'thrusters' if thrusters else 'inertia'}.toml")
    refuse_output("file", path, (".toml",), overwrite)
    if plot is not None:
        refuse_output("plot", plot, SUFFIXES, overwrite)
    try:
        result = (_thrusters if thrusters else _base)(recorded, log)
    except InputError as error:
        raise error.within(file=str(log)) from None
    if plot is not None:
        plot_residuals(result.fit, log.name, plot, overwrite)
    with write_whole("file", path, (".toml",), overwrite) as unfinished:
        unfinished.write_text(toml_text(result.content), encoding="utf-8")
    if as_json:
        print_json(result.content)
    else:
        put(out, [result.table])
        for line in result.lines:
            out.print(line, soft_wrap=True)
        out.print(f"numbers: {path}", soft_wrap=True)
        if plot is not None:
            out.print(f"residuals: {plot}", soft_wrap=True)
    end_if_incomplete(log, recorded)


class _Identification(NamedTuple):
    """What was identified, in all forms."""

    fit: Fit
    content: dict[str, Any]
    table: Table
    lines: list[str]


def _base(log: Log, file: Path) -> _Identification:
    from granite.calibration.identification.base import identify_base
    from granite.calibration.identification.flight import expected_base, flight_of
    from granite.cli.report.identification import base_content, base_lines, base_table

    expected = expected_base(log.bed)
    identified = identify_base(flight_of(log), expected)
    content, lines = base_content(log.bed, file, identified), base_lines(identified, expected)
    return _Identification(identified.fit, content, base_table(identified, expected), list(lines))


def _thrusters(log: Log, file: Path) -> _Identification:
    from granite.calibration.identification.flight import expected_base, flight_of, vehicle_of
    from granite.calibration.identification.thrusters import identify_thrusters
    from granite.calibration.identification.wiring import rewired, swapped_valves
    from granite.cli.report.identification import thrusters_content, thrusters_lines, thrusters_table
    from granite.config.devices.thrusters import Thrusters

    device = log.bed.devices_of(Thrusters)[vehicle_of(log.bed)[0]]
    flight, base = flight_of(log), expected_base(log.bed)
    swapped = swapped_valves(flight, base)
    identified = identify_thrusters(rewired(flight, swapped), base)
    content = thrusters_content(log.bed, file, identified, swapped)
    lines = thrusters_lines(identified, device, swapped)
    return _Identification(identified.fit, content, thrusters_table(identified, device), list(lines))
