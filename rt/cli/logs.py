"""Commands on the log of a run: `replay`, `plot`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from granite.rt.cli.arguments import AsJson, LogFile, Overwrite
from granite.rt.cli.endings import DIFFERS
from granite.rt.cli.outputs import refuse_output
from granite.rt.cli.screen import err, out, print_json


def replay(log: LogFile, as_json: AsJson = False) -> None:
    """Run the recorded inputs through the same controllers and compare every output bit for bit."""
    from granite.rt.logs.log import read_log
    from granite.rt.logs.replay import replay as run_again
    from granite.rt.recorder_process import finite
    from granite.rt.report.replay import replay_lines

    recorded = read_log(log)
    with Progress(console=err, transient=True, disable=as_json or not err.is_terminal) as progress:
        task = progress.add_task("replaying", total=recorded.ticks)
        result = run_again(recorded, lambda n: progress.update(task, completed=n) if n % 200 == 0 else None)
    if as_json:
        found = {
            "log": str(log),
            "ticks": result.ticks,
            "values": result.values,
            "identical": result.first is None,
            "first_difference": result.first.__dict__ if result.first else None,
            "complete": recorded.complete,
            "ends_at_gap_after_tick": result.gap,
        }
        print_json(finite(found))
    else:
        for line in replay_lines(result, recorded.complete):
            out.print(line, soft_wrap=True)
    if result.first is not None:
        raise typer.Exit(DIFFERS)


def plot(
    log: LogFile,
    path: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="the plot, *.png, *.svg or *.pdf; default: a PNG beside the log"),
    ] = None,
    panels: Annotated[
        str | None, typer.Option(metavar="NAMES", help="only these parts, large, e.g. tracking,valves or view")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Plot a log: the motion of modules and contacts in space, and the signals of this testbed over time."""
    from granite.rt.logs.log import read_log
    from granite.rt.plots import SUFFIXES, plot_log

    recorded = read_log(log)
    path = path or log.with_suffix(".png")
    refuse_output("plot", path, SUFFIXES, overwrite)
    named = [name.strip() for name in panels.split(",")] if panels is not None else []
    plot_log(recorded, path, overwrite=overwrite, panels=named)
    out.print(f"plot: {path}", soft_wrap=True)
