"""The tracking errors of several runs over time: one axes for each coordinate, one colour for each run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from granite.config.errors import InputError
from granite.config.records import Array
from granite.logs.log import Log
from granite.views.plots.figure_file import write_figure
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import DPI, SOFT, colours, words

#: the width of a column of axes, the height of one, and of the legend [in]
_WIDTH_IN, _HEIGHT_IN, _LINE_IN, _HEAD_IN = 7.5, 1.25, 0.22, 0.5
#: coordinates that stand in one column, and letters of a line of the legend above it
_COLUMN, _LETTERS = 6, 100


class _Errors(NamedTuple):
    """One run: its errors by coordinate and unit, in thousandths of the unit."""

    t: Array
    series: dict[tuple[str, str], Array]


def plot_comparison(logs: Mapping[str, Log], path: Path, overwrite: bool = False) -> None:
    """Plot the errors of runs, by their names in the legend, into a file.

    Raises
    ------
    InputError
        Where none of the runs has a reference, or the file can't be written.
    """
    write_figure(path, lambda: build_comparison(logs), overwrite)


def build_comparison(logs: Mapping[str, Log]) -> Figure:
    """The figure, to be drawn in the style of all plots."""
    runs = {name: _errors(log) for name, log in logs.items()}
    shown = list(dict.fromkeys(key for run in runs.values() for key in run.series))
    if not shown:
        raise InputError("no run has a reference", key="--plot", expected="logs of controlled testbeds")
    columns = math.ceil(len(shown) / _COLUMN)
    rows = math.ceil(len(shown) / columns)
    names = ["\n      ".join(wrap(name, _LETTERS * columns, break_on_hyphens=False)) for name in runs]
    head = _HEAD_IN + _LINE_IN * sum(name.count("\n") + 1 for name in names)
    size = _WIDTH_IN * columns, head + _HEIGHT_IN * rows + 0.3
    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axes, key in zip(grid.T.flat, shown, strict=False):
        _draw(axes, key, runs)
    for axes in grid.T.flat[len(shown) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("time [s]")
    handles = [grid[0, 0].plot([], [], color=colour, lw=2)[0] for colour in colours(len(runs))]
    figure.align_ylabels()
    figure.legend(handles, names, loc="outside upper left", title="Tracking error", alignment="left", fontsize=8.5)
    return figure


def _draw(axes: Axes, key: tuple[str, str], runs: Mapping[str, _Errors]) -> None:
    axes.axhline(0, color=SOFT, lw=0.8)
    for run, colour in zip(runs.values(), colours(len(runs)), strict=True):
        if key in run.series:
            axes.plot(run.t, run.series[key], color=colour, lw=1.1)
    name, unit = key
    axes.set_ylabel(f"{words(name)}\n[m{unit}]")
    axes.tick_params(labelsize=8)
    axes.margins(x=0)


def _errors(log: Log) -> _Errors:
    """Errors of coordinates that follow the reference, without quaternions."""
    run = PlottedRun(log)
    if run.bed.controller is None:
        return _Errors(run.t, {})
    layout = run.bed.known
    followed = run.bed.followed_positions
    error = 1e3 * (run.q[:, run.referenced] - run.reference)
    shown = [(i, c) for i, c in enumerate(layout.positions) if i in followed and c.unit != "1"]
    return _Errors(run.t, {(c.name, c.unit): np.asarray(error[:, i]) for i, c in shown})
