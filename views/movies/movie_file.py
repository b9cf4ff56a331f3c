"""The file of a film: MP4 or GIF, encoded by FFmpeg, written complete or not at all."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO

from granite.config.errors import InputError
from granite.config.optional_packages import required
from granite.config.whole_file import refuse_output, write_whole
from granite.logs.log import Log
from granite.views.movies.backdrop import build_backdrop
from granite.views.movies.frames import Frames
from granite.views.movies.instants import instants
from granite.views.plots.run import PlottedRun
from granite.views.plots.view import View, known_ticks

#: how the name of a film may end, and the frames of each a second
SUFFIXES = {".mp4": 30.0, ".gif": 15.0}
_RATES, _SPEEDS = (1.0, 120.0), (0.01, 1000.0)
#: fast settings, since FFmpeg takes most of the time; a GIF has few colours, chosen for this film, and is smaller
_OPTIONS = {
    ".mp4": ("-codec:v", "libx264", "-preset", "ultrafast", "-crf", "23", "-movflags", "+faststart"),
    ".gif": (
        "-filter_complex",
        "scale=iw*0.6:-1:flags=area,split[a][b];[a]palettegen=stats_mode=diff:max_colors=64[p];"
        "[b][p]paletteuse=dither=none:diff_mode=rectangle",
    ),
}


def film(
    log: Log,
    path: Path,
    *,
    fps: float | None = None,
    speed: float = 1.0,
    panels: Sequence[str] = (),
    overwrite: bool = False,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> int:
    """Film a run into a file, whose suffix is the format; returns the number of frames.

    Parameters
    ----------
    log
        The run.
    path
        The film: `*.mp4` or `*.gif`.
    fps
        Frames a second; None: 30, and 15 of a GIF.
    speed
        How many times as fast as the run.
    panels
        The signals beneath, as in a plot; none: tracking or motion, and valves.
    overwrite
        Replace the file if it exists.
    progress
        Called with the number of frames that are done, and of all.

    Raises
    ------
    InputError
        Where a package is missing, an option is out of range, nothing is known to move, or the file can't be written.
    """
    suffix = path.suffix.lower()
    refuse_output("film", path, SUFFIXES, overwrite)
    fps = fps if fps is not None else SUFFIXES[suffix]
    for key, value, (low, high) in (("fps", fps, _RATES), ("speed", speed, _SPEEDS)):
        if not low <= value <= high:
            raise InputError("out of range", key=key, value=value, expected=f"{low:g} to {high:g}")
    encoder = required("imageio_ffmpeg", "movie").get_ffmpeg_exe()
    run = PlottedRun(log)
    if not len(ticks := known_ticks(run.q)):
        raise InputError("the motion of the robot is not known", expected="a log with an estimate or a truth")
    shown = instants(log, run, fps, speed)
    view = View(run, ticks)
    backdrop = build_backdrop(view, panels)
    height, width, _ = backdrop.picture.shape
    # OpenCV converts colours several times as fast as FFmpeg, and the pipe takes half the bytes.
    cv = required("cv2", "movie")
    form = ("-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-")
    with write_whole("film", path, SUFFIXES, overwrite) as unfinished:
        command = [encoder, "-y", "-v", "error", *form, "-an", *_OPTIONS[suffix], os.fspath(unfinished)]
        with _encoder(command) as pipe:
            for i, frame in enumerate(Frames(view, backdrop, shown), start=1):
                pipe.write(cv.cvtColor(frame, cv.COLOR_RGB2YUV_I420).data)
                progress(i, len(shown.t))
    return len(shown.t)


@contextlib.contextmanager
def _encoder(command: Sequence[str]) -> Iterator[IO[bytes]]:
    """A pipe for frames to FFmpeg, which has written the film at the end of the context; `OSError` where it failed."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C comes to this process alone, which ends the other one
    )
    assert process.stdin is not None
    try:
        with contextlib.suppress(BrokenPipeError):  # its own words say why
            yield process.stdin
        said = process.communicate()[1].decode(errors="replace").strip()
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    if process.returncode:
        raise OSError(said.splitlines()[-1] if said else f"FFmpeg ended with code {process.returncode}")
