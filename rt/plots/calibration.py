"""Residuals of a calibration: what the fit leaves of each signal, over what it was measured at."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from granite.rt.calibration.fit import CalibrationFit, Residuals
from granite.rt.plots.figure_file import write_figure
from granite.rt.plots.look import COLOURS, DPI, SOFT

_WIDTH_IN, _HEIGHT_IN = 9.0, 1.8


def plot_calibration(found: CalibrationFit, title: str, path: Path) -> None:
    """Plot into a file; `InputError` if it exists or can't be written."""
    write_figure(path, lambda: build_figure(found.residuals, title))


def build_figure(residuals: tuple[Residuals, ...], title: str) -> Figure:
    """An axes for each signal, with two standard deviations of its residuals."""
    rows = len(residuals)
    figure = Figure(figsize=(_WIDTH_IN, 1.0 + _HEIGHT_IN * rows), dpi=DPI, layout="constrained")
    for axes, each in zip(figure.subplots(rows, 1, squeeze=False)[:, 0], residuals, strict=True):
        axes.plot(each.places, each.values, ".", color=COLOURS[0])
        for bound in (-2 * each.values.std(), 2 * each.values.std()):
            axes.axhline(bound, color=SOFT, lw=0.8, ls="--")
        axes.set_ylabel(f"{each.signal}\n[{each.unit}]")
        axes.set_xlabel(each.at)
    figure.suptitle(f"{title}: measured less fitted; dashed: two standard deviations", fontsize=10)
    return figure
