"""Commands on many logs: `runs`, `compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from granite.cli.arguments import AsJson, Overwrite
from granite.cli.completion import complete_log
from granite.cli.logs import end_if_incomplete
from granite.cli.screen import out, print_json
from granite.config.errors import InputError
from granite.config.paths import missing_part
from granite.config.whole_file import refuse_output


def runs(
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="where the logs are; default: runs")] = None,
    as_json: AsJson = False,
) -> None:
    """The logs in a folder, the newest last: testbed, changes, when, how long, how it ended and the final error."""
    from granite.cli.report.runs import runs_json, runs_lines
    from granite.logs.overview import Overview, read_overview

    folder = folder or Path("runs")
    if not folder.is_dir():
        raise InputError(missing_part(folder / "log"), expected="a directory with logs; granite sim BED makes runs/")
    runs: list[Overview] = []
    unreadable: list[tuple[Path, str]] = []
    for path in sorted(folder.glob("*.mcap")):
        if not path.is_file():  # reading a pipe would wait for its writer
            continue
        try:
            runs.append(read_overview(path))
        except InputError as error:
            unreadable.append((path, str(error)))
    runs.sort(key=lambda run: run.when)
    if as_json:
        print_json(runs_json(runs, unreadable))
    elif not runs and not unreadable:
        out.print(f"no logs in {folder}", soft_wrap=True)
    else:
        for line in runs_lines(runs, unreadable, out.width):
            out.print(line, soft_wrap=True)


def compare(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG LOG...", help="two or more logs", autocompletion=complete_log)
    ],
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="draw the errors over time, *.png, *.svg or *.pdf")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Runs side by side: differences of the testbeds, tracking errors, propellant, torques, how they ended."""
    from granite.cli.report.comparison import comparison_tables
    from granite.logs.comparison import compare as compare_logs
    from granite.logs.json_records import finite
    from granite.logs.log import read_log
    from granite.views.plots.figure_file import SUFFIXES
    from granite.views.table import put

    if plot is not None:
        refuse_output("plot", plot, SUFFIXES, overwrite)
    recorded = {str(path): read_log(path) for path in logs}
    comparison = compare_logs(recorded)
    if as_json:
        print_json(finite(comparison))
    else:
        put(out, comparison_tables(comparison))
    if plot is not None:
        from granite.views.plots.comparison import plot_comparison

        names = {
            f"{letter}  {', '.join([run['bed'], *run['changes']])}": recorded[run["log"]]
            for letter, run in comparison["runs"].items()
        }
        plot_comparison(names, plot, overwrite)
        if not as_json:
            out.print(f"plot: {plot}", soft_wrap=True)
    for path in logs:
        end_if_incomplete(path, recorded[str(path)])
