"""The file of a plot of one run: PNG, SVG or PDF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from granite.logs.log import Log
from granite.views.plots import page
from granite.views.plots.figure_file import SUFFIXES as SUFFIXES
from granite.views.plots.figure_file import write_figure


def plot_log(log: Log, path: Path, overwrite: bool = False, panels: Sequence[str] = ()) -> None:
    """Plot a run into a file, whose suffix is the format: all of it, or the named panels.

    `InputError` if the file can't be written, or if the run has no such panel.
    """
    write_figure(path, lambda: page.build_page(log, panels), overwrite)
