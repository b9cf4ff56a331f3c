"""Residuals of a calibration, over the input of its measurement or an image, and of an identification over time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from granite.calibration.fit import CalibrationFit, ResidualMap, Residuals
from granite.calibration.identification.motion_fit import Fit
from granite.views.plots.figure_file import write_figure
from granite.views.plots.style import COLOURS, DPI, SOFT, words

#: size of a panel [in], and the width of the distribution beside it as a part of it
_WIDTH_IN, _HEIGHT_IN, _SIDE = 6.0, 1.5, 0.18
#: panels below each other, before there is a second column
_ROWS = 6
#: width of a map [in], and its longest arrow as a part of it
_MAP_IN, _ARROW = 9.0, 0.06
#: many points are small ones; few have no distribution beside them
_MANY, _FEW = 300, 100
_SIZE_IN = (9.0, 5.5)


def plot_calibration(fit: CalibrationFit, title: str, path: Path) -> None:
    """Plot into a file; `InputError` if it exists or can't be written."""
    write_figure(path, lambda: build_figure(fit.residuals, title))


def build_figure(residuals: tuple[Residuals | ResidualMap, ...], title: str) -> Figure:
    """A panel for each signal with the distribution of its residuals, or the map of an image."""
    for residual in residuals:
        if isinstance(residual, ResidualMap):
            return _map_figure(residual, title)
    signals = [residual for residual in residuals if isinstance(residual, Residuals)]
    columns = -(-len(signals) // _ROWS)
    rows = -(-len(signals) // columns)
    # A distribution of few values shows nothing.
    side = _SIDE if max(len(residual.values) for residual in signals) >= _FEW else 1e-3
    figure = Figure(figsize=(max(columns * _WIDTH_IN, 9.0), 0.8 + _HEIGHT_IN * rows), dpi=DPI, layout="constrained")
    grid = figure.subplots(rows, 2 * columns, squeeze=False, width_ratios=(1, side) * columns)
    for k, residual in enumerate(signals):
        row, column = k % rows, k // rows
        axes, beside = grid[row, 2 * column : 2 * column + 2]
        _panel(axes, residual)
        _distribution(beside, axes, residual)
        beside.set_visible(side == _SIDE)
        alike = np.concatenate([other.x for other in signals if other.x_label == residual.x_label])
        margin = 0.02 * float(np.ptp(alike)) or 1.0
        axes.set_xlim(alike.min() - margin, alike.max() + margin)
        if row == rows - 1 or k == len(signals) - 1 or signals[k + 1].x_label != residual.x_label:
            axes.set_xlabel(residual.x_label)
        else:
            axes.tick_params(labelbottom=False)
    for k in range(len(signals), rows * columns):
        for axes in grid[k % rows, 2 * (k // rows) : 2 * (k // rows) + 2]:
            axes.set_visible(False)
    figure.suptitle(f"{title}: measured less fitted; dashed: two standard deviations", fontsize=10)
    return figure


def _panel(axes: Axes, residual: Residuals) -> None:
    """Residuals over their places."""
    axes.plot(residual.x, residual.values, ".", ms=1.5 if len(residual.values) > _MANY else 5.0, color=COLOURS[0])
    spread = float(residual.values.std())
    most = 1.15 * max(float(np.abs(residual.values).max(initial=0.0)), 2 * spread) or 1.0
    axes.set_ylim(-most, most)
    for bound in (-2 * spread, 2 * spread):
        axes.axhline(bound, color=SOFT, lw=0.8, ls="--")
    axes.yaxis.set_major_locator(MaxNLocator(3, symmetric=True))
    axes.yaxis.set_major_formatter("{x:.2g}" if residual.unit == "1" else EngFormatter(residual.unit, sep=" "))
    axes.set_title(words(residual.signal), fontsize=9, loc="left", pad=3)


def _distribution(side: Axes, axes: Axes, residual: Residuals) -> None:
    """How often each residual is, beside its panel."""
    side.hist(residual.values, bins=31, orientation="horizontal", color=COLOURS[0])
    side.set(xticks=[], yticks=[], ylim=axes.get_ylim())
    side.spines["bottom"].set_visible(False)


def _map_figure(residuals: ResidualMap, title: str) -> Figure:
    """The residual of each point as an arrow, over the image."""
    width, height = residuals.size
    length = np.hypot(*residuals.values.T)
    figure = Figure(figsize=(_MAP_IN, 0.9 * _MAP_IN * height / width), dpi=DPI, layout="constrained")
    axes = figure.subplots()
    usual = max(3 * float(np.sqrt((length**2).mean())), 1e-9)
    arrows = axes.quiver(
        *residuals.pixels.T, residuals.values[:, 0], -residuals.values[:, 1], length,
        scale=usual / _ARROW, scale_units="width", width=0.0015, cmap="viridis",
    )  # fmt: skip
    axes.quiverkey(arrows, 0.86, -0.07, usual, f"{usual:.2g} {residuals.unit}", labelpos="E", coordinates="axes")
    figure.colorbar(arrows, label=f"residual [{residuals.unit}]", shrink=0.85)
    axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal", xlabel="column [pixel]", ylabel="row [pixel]")
    rms = float(np.sqrt((residuals.values**2).mean()))
    figure.suptitle(
        f"{title}: seen less fitted, {len(length)} points, rms {rms:.2g}, largest {length.max():.2g} {residuals.unit}",
        fontsize=10,
    )
    return figure


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
