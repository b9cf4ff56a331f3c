"""Sources of grey frames with their times: a camera, a video, a folder of pictures, shared memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from granite.config.errors import InputError
from granite.drivers.camera.centroid import Pixels

#: in front of the name of a shared-memory stream
SHARED = "shared:"


class Image(NamedTuple):
    """A frame of a source."""

    t: float  #: of the exposure [s]: from the driver where it gives one, else of its arrival
    number: int  #: from 1
    pixels: Pixels  #: grey values (rows, columns)


def open_source(
    name: str, size: tuple[int, int], rate_hz: float = 60.0, clock: Callable[[], float] = time.monotonic
) -> Iterator[Image]:
    """The frames of a source.

    Parameters
    ----------
    name
        A number (a camera), a folder of PNG pictures, a video file, or `shared:NAME`.
    size
        Width and height that its frames must have [pixel].
    rate_hz
        Of a camera, and of pictures without times.
    clock
        Time of arrival of frames without a time of their own [s].

    Raises
    ------
    InputError
        Where there is no such source, or its frames have another size.
    """
    from granite.drivers.camera.sources import capture, folder, shared_frames

    if name.isdecimal():
        images = capture.camera_frames(int(name), size, rate_hz, clock)
    elif name.startswith(SHARED):
        images = shared_frames.shared_frames(name.removeprefix(SHARED))
    elif Path(name).is_dir():
        images = folder.folder_frames(Path(name), rate_hz)
    elif Path(name).is_file():
        images = capture.video_frames(Path(name))
    else:
        expected = f"the number of a camera, a folder, a video file, or {SHARED}NAME"
        raise InputError("no such source of frames", file=name, expected=expected)
    return _of_size(images, size, name)


def live(images: Iterator[Image], name: str) -> Iterator[Image]:
    """The frames of a source as they come, with times of the monotonic clock; recorded ones at their pace from now."""
    if name.isdecimal() or name.startswith(SHARED):
        yield from images
        return
    ahead = None
    for image in images:
        ahead = time.monotonic() - image.t if ahead is None else ahead
        time.sleep(max(0.0, image.t + ahead - time.monotonic()))
        yield image._replace(t=image.t + ahead)


def _of_size(images: Iterator[Image], size: tuple[int, int], name: str) -> Iterator[Image]:
    for image in images:
        height, width = image.pixels.shape
        if (width, height) != size:
            expected = f"{size[0]}x{size[1]}, as calibrated"
            raise InputError(f"a frame of {width}x{height} pixels", file=name, expected=expected)
        yield image
