"""The page of a run: what happened in space at the left, over time at the right."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from granite.rt.log import Log
from granite.rt.plots.look import DPI, SIZE_IN, SOFT, STOP
from granite.rt.plots.run import Run
from granite.rt.plots.time_panels import draw_time_panels, time_panels
from granite.rt.plots.view import draw_view

#: of the page, what the title takes, and what a panel with its names needs at least
_HEAD_IN, _PANEL_IN = 0.9, 0.88


def build_page(log: Log) -> Figure:
    """The page as a figure, to be drawn in the page's style."""
    run = Run(log)
    panels, (width, height) = time_panels(run), SIZE_IN
    height = max(height, _HEAD_IN + _PANEL_IN * sum(panel.height for panel in panels))
    below = ConstrainedLayoutEngine(rect=(0.005, 0.005, 0.985, 1 - _HEAD_IN / height))
    figure = Figure(figsize=(width, height), dpi=DPI, layout=below)
    _write_title(figure, log, run)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.2, 1.0), wspace=0.02)[0]
    draw_view(left.subplots(), run)
    draw_time_panels(right, run, panels)
    return figure


def _write_title(figure: Figure, log: Log, run: Run) -> None:
    bed, taken = log.bed, 1e3 * run.tick_time[np.isfinite(run.tick_time)]
    facts = [bed.name, f"seed {bed.seed}", f"{run.end - float(run.t[0]):.4g} s"]
    facts += [f"error = {run.measure} − reference"] if bed.controller else []
    if len(taken):
        median, late = np.percentile(taken, (50, 99))
        facts.append(f"tick of {1e3 * bed.loop.period_s:.3g} ms, taking {median:.2g} ms (99 %: {late:.2g} ms)")
    title, line = (1 - down / figure.get_figheight() for down in (0.38, 0.73))
    figure.text(0.015, title, bed.title, fontsize=min(20.0, 1500 / max(len(bed.title), 1)), weight="bold", va="center")
    figure.text(0.015, line, "  ·  ".join(facts), fontsize=11, color=SOFT, va="center")
    if not log.complete:
        figure.text(0.985, line, "the log is cut: the run went on", fontsize=11, color=STOP, va="center", ha="right")
