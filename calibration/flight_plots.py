"""Residuals of an identification over time: measured poses less the fitted motion."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from granite.calibration.identification.motion_fit import Fit
from granite.views.plots.figure_file import write_figure
from granite.views.plots.style import COLOURS, DPI, SOFT

_SIZE_IN = (9.0, 5.5)


def plot_residuals(fit: Fit, title: str, path: Path, overwrite: bool = False) -> None:
    """Plot into a file; `InputError` if it can't be written."""
    write_figure(path, lambda: build_residuals(fit, title), overwrite)


def build_residuals(fit: Fit, title: str) -> Figure:
    """The figure: an axes for x, y and heading, each with two standard deviations and its distribution."""
    figure = Figure(figsize=_SIZE_IN, dpi=DPI, layout="constrained")
    grid = figure.subplots(3, 2, sharex="col", sharey="row", width_ratios=(5, 1))
    rows = zip(grid, ("x [mm]", "y [mm]", "heading [mrad]"), fit.residuals.T, fit.pose_deviation, strict=True)
    for (over_time, spread), label, residual, deviation in rows:
        values = residual * 1e3
        over_time.plot(fit.pose_times, values, ".", ms=2, color=COLOURS[0])
        for bound in (-2e3 * deviation, 2e3 * deviation):
            over_time.axhline(bound, color=SOFT, lw=0.8, ls="--")
        over_time.set_ylabel(label)
        spread.hist(values, bins=40, orientation="horizontal", color=COLOURS[0])
    grid[-1, 0].set_xlabel("time since the first estimate [s]")
    grid[-1, 1].set_xlabel("poses")
    figure.suptitle(f"{title}: measured less fitted pose; dashed: two standard deviations", fontsize=10)
    return figure
