"""Frames of a folder of PNG pictures in the order of their names, and how such a folder is written."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image as Picture
from PIL import UnidentifiedImageError

from granite.config.errors import InputError
from granite.drivers.camera.centroid import Pixels
from granite.drivers.camera.sources import Image
from granite.drivers.camera.sources.capture import grey

#: beside the pictures: their names, and the times of their exposures [s]
TIMES = "times.csv"


def folder_frames(folder: Path, rate_hz: float) -> Iterator[Image]:
    """The pictures; without a file of times they are `rate_hz` apart."""
    names = sorted(path.name for path in folder.glob("*.png"))
    if not names:
        raise InputError("no picture in it", file=str(folder), expected="a folder with files *.png")
    times = _times(folder, names)
    for k, name in enumerate(names):
        yield Image(times[name] if times else k / rate_hz, k + 1, _read(folder / name))


def write_frame(folder: Path, pixels: Pixels, t: float, number: int) -> None:
    """Add a picture and its time to a folder."""
    name = f"{number:06d}.png"
    Picture.fromarray(pixels).save(folder / name, compress_level=1)  # noise compresses badly, and slowly
    with (folder / TIMES).open("a", newline="") as file:
        csv.writer(file).writerow((name, repr(t)))


def _read(path: Path) -> Pixels:
    try:
        with Picture.open(path) as picture:
            pixels: Pixels = grey(np.asarray(picture))
    except (OSError, UnidentifiedImageError) as error:
        raise InputError(f"not a picture ({error})", file=str(path), expected="a PNG picture") from None
    if pixels.dtype != np.uint8:
        raise InputError(f"pixels of type {pixels.dtype}", file=str(path), expected="8 bits a pixel")
    return pixels


def _times(folder: Path, names: list[str]) -> dict[str, float]:
    path = folder / TIMES
    if not path.exists():
        return {}
    try:
        with path.open(newline="") as file:
            times = {name: float(t) for name, t in csv.reader(file)}
    except ValueError as error:
        raise InputError(f"not a table of times ({error})", file=str(path), expected="lines NAME,SECONDS") from None
    for name in names:
        if name not in times:
            raise InputError(f"no time of '{name}'", file=str(path), expected="a line for every picture")
    return times
