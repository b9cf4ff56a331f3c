"""`granite see`: what the camera of a testbed sees, as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from granite.config.errors import InputError
from granite.config.loader import load
from granite.rt.cli.arguments import Bed, Overrides, named
from granite.rt.cli.screen import out


def see(
    bed: Bed,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="SOURCE", help="camera number, folder, video or shared:NAME; default: simulated"
        ),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="for the pictures; default: seen-BED")
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", min=0.0, help="time between pictures")] = 1.0,
    duration: Annotated[float, typer.Option(metavar="SECONDS", min=0.0, help="how long to look")] = 5.0,
    raw: Annotated[bool, typer.Option("--raw", help="frames without marks, with their times")] = False,
    overrides: Overrides = None,
) -> None:
    """Write what the camera of a testbed sees as PNG pictures: targets, windows, residuals, refused spots."""
    from granite.rt.see import camera_of, real_views, simulated_views, write_views

    changes = [*(overrides or ()), *([f"loop.duration_s={max(duration, 0.1)}"] if source is None else [])]
    testbed = load(bed, changes)
    camera_of(testbed)
    into = folder or Path(f"seen-{testbed.name}".replace("/", "-"))
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise InputError(f"'{into}' exists: expected a new folder, or an empty one, by --out")
    if not into.parent.is_dir():
        raise InputError(f"no folder '{into.parent}': expected an existing one for '{into.name}'")
    with named(bed, testbed):
        frames = real_views(testbed, source, every, duration) if source else simulated_views(testbed, every)
        seen = write_views(testbed, frames, into, raw)
    for frame in seen:
        bodies = [
            f"{s.body} {s.pose[0]:.4f} m, {s.pose[1]:.4f} m, {s.pose[2]:.4f} rad, {len(s.targets)} targets"
            for s in frame.sightings
        ]
        refused = f"; {len(frame.refused)} spots refused" if frame.refused else ""
        out.print(f"{frame.t:8.3f} s  {'; '.join(bodies) or 'no body'}{refused}", soft_wrap=True)
    out.print(f"{len(seen)} pictures: {into}", soft_wrap=True)
