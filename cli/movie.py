"""`granite movie`: a log as a film."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from granite.cli.arguments import LogFile, Overwrite
from granite.cli.logs import end_if_incomplete
from granite.cli.screen import err, out
from granite.config.whole_file import refuse_output


def movie(
    log: LogFile,
    path: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="*.mp4 or *.gif; default: an MP4 beside the log")
    ] = None,
    fps: Annotated[
        float | None, typer.Option(metavar="N", help="frames a second; default: 30, and 15 of a GIF")
    ] = None,
    speed: Annotated[float, typer.Option(metavar="FACTOR", help="how many times as fast as the run")] = 1.0,
    panels: Annotated[
        str | None, typer.Option(metavar="NAMES", help="the signals beneath, as in granite plot, e.g. torques")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Film a log: the motion from above with jets, paths and the target, and signals of this testbed beneath."""
    from granite.logs.log import read_log
    from granite.views.movies.movie_file import SUFFIXES, film

    recorded = read_log(log)
    path = path or log.with_suffix(".mp4")
    refuse_output("film", path, tuple(SUFFIXES), overwrite)
    named = [name.strip() for name in panels.split(",")] if panels is not None else []
    with Progress(console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("filming", total=None)
        n = film(
            recorded,
            path,
            fps=fps,
            speed=speed,
            panels=named,
            overwrite=overwrite,
            progress=lambda done, of: progress.update(task, completed=done, total=of) if done % 10 == 0 else None,
        )
    out.print(f"film: {path}, {n} frames", soft_wrap=True)
    end_if_incomplete(log, recorded)
