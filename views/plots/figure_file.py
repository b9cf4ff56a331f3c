"""The files of figures: PNG, SVG or PDF."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import matplotlib.style
from matplotlib.figure import Figure

from granite.config.whole_file import write_whole
from granite.logs.log import Log
from granite.views.plots import page
from granite.views.plots.style import STYLE

#: how the name of a plot may end
SUFFIXES = (".png", ".svg", ".pdf")


def write_figure(path: Path, build: Callable[[], Figure], overwrite: bool = False) -> None:
    """Build a figure in the style of all plots and write it; `InputError` if the file can't be written."""
    with write_whole("plot", path, SUFFIXES, overwrite) as unfinished, unfinished.open("wb") as file:
        _draw(build, file, path.suffix.lower()[1:])


def plot_log(log: Log, path: Path, overwrite: bool = False, panels: Sequence[str] = ()) -> None:
    """Plot a run into a file, whose suffix is the format: all of it, or the named panels.

    `InputError` if the file can't be written, or if the run has no such panel.
    """
    write_figure(path, lambda: page.build_page(log, panels), overwrite)


class Picture(bytes):
    """A PNG file in memory, which a notebook shows."""

    def _repr_png_(self) -> bytes:
        return self


def picture_of(log: Log) -> Picture:
    """The plot of a run in memory."""
    content = io.BytesIO()
    _draw(lambda: page.build_page(log), content, "png")
    return Picture(content.getvalue())


def _draw(build: Callable[[], Figure], file: BinaryIO, kind: str) -> None:
    with matplotlib.style.context(["default", STYLE]):
        build().savefig(file, format=kind)
