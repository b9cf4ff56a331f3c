"""Durations of the steps of the tick."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from granite.config.records import STEPS
from granite.views.plots.panels.panel import Panel
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import COLOURS

#: number of intervals over which the median of a step's time is taken, and least number of ticks in each
_MEDIANS, _TICKS = 150, 10
#: the axis ends at this multiple of the 90th percentile at most
_RARE = 2.0


def step_time_panels(run: PlottedRun) -> list[Panel]:
    """Steps stacked: the median over intervals of the run; none in virtual time."""
    if not run.is_realtime:
        return []

    def draw(axes: Axes) -> None:
        starts = np.arange(0, len(run.t), max(-(-len(run.t) // _MEDIANS), _TICKS))
        ticks = run.weight.astype(int)
        parts = zip(np.split(1e6 * run.step_times, starts[1:]), np.split(ticks, starts[1:]), strict=True)
        medians = [np.nanmedian(np.repeat(times, n, axis=0), axis=0) for times, n in parts]
        edges = np.append(run.t[starts], run.end)
        axes.stackplot(edges, np.array([*medians, medians[-1]]).T, colors=COLOURS, labels=STEPS, step="post")
        # Rare peaks must not hide the usual times; the longest ticks are in the title.
        totals = np.sum(medians, axis=1)
        axes.set_ylim(0, min(1.05 * totals.max(), _RARE * float(np.percentile(totals, 90))) or None)
        axes.set_ylabel("steps\n[us]")
        axes.legend(
            loc="lower right", bbox_to_anchor=(1.02, 1.0), ncols=8, fontsize=7.5, columnspacing=0.8, handlelength=1
        )

    return [Panel(draw)]
