"""`granite see`: what the camera of a testbed sees, as pictures, or as a stream of poses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from granite.cli.arguments import Bed, Overrides, named
from granite.cli.screen import out
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed

#: how long pictures are taken where no time is given [s]
_USUAL_S = 5.0


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
    every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.0, help="time between pictures, or printed lines")
    ] = 1.0,
    duration: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", min=0.0, help="how long to look; default: 5, or with --publish until Ctrl-C"),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="frames without marks, with their times")] = False,
    publish: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="send the poses there, as udp://HOST:PORT; no pictures, needs --from"),
    ] = None,
    overrides: Overrides = None,
) -> None:
    """Write what the camera of a testbed sees as PNG pictures: targets, windows, residuals, refused spots.

    With --publish it is the vision sensor of another process: it sends every pose to the driver pose_stream.
    """
    from granite.drivers.camera.bodies import camera_of
    from granite.rt.camera_view import real_views, simulated_views, write_views

    looked_s = _USUAL_S if duration is None else duration
    changes = [*(overrides or ()), *([f"loop.duration_s={max(looked_s, 0.1)}"] if source is None else [])]
    testbed = load(bed, changes)
    camera_of(testbed)
    if publish is not None:
        if source is None:
            raise InputError("nothing to publish: expected a source of frames, by --from")
        with named(bed, testbed):
            return _publish(testbed, source, publish, every, duration)
    into = folder or Path(f"seen-{testbed.name}".replace("/", "-"))
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise InputError(f"'{into}' exists: expected a new folder, or an empty one, by --out")
    if not into.parent.is_dir():
        raise InputError(f"no folder '{into.parent}': expected an existing one for '{into.name}'")
    with named(bed, testbed):
        frames = real_views(testbed, source, every, looked_s) if source else simulated_views(testbed, every)
        seen = write_views(testbed, frames, into, raw)
    for frame in seen:
        bodies = [
            f"{s.body} {s.pose[0]:.4f} m, {s.pose[1]:.4f} m, {s.pose[2]:.4f} rad, {len(s.targets)} targets"
            for s in frame.sightings
        ]
        refused = f"; {len(frame.refused)} spots refused" if frame.refused else ""
        out.print(f"{frame.t:8.3f} s  {'; '.join(bodies) or 'no body'}{refused}", soft_wrap=True)
    out.print(f"{len(seen)} pictures: {into}", soft_wrap=True)


def _publish(bed: Testbed, source: str, address: str, every_s: float, duration_s: float | None) -> None:
    """Send poses until the source ends, the time is over, or Ctrl-C; say at intervals what is sent."""
    from granite.rt.camera_view import published

    out.print(f"poses to {address}; Ctrl-C ends it", soft_wrap=True)
    try:
        for count in published(bed, source, address, every_s, duration_s):
            poses = ", ".join(f"{body} {n}" for body, n in count.poses.items())
            late = f"{1e3 * count.age_s:.1f} ms after exposure"
            out.print(f"{count.t:8.1f} s  {count.frames} frames; poses: {poses}; {late}", soft_wrap=True)
    except KeyboardInterrupt:
        out.print("ended")
