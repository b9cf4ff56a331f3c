"""When the valves of the thrusters were open."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from granite.config.devices.thrusters import Thrusters
from granite.views.plots.panels.panel import Panel
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import PALE, PLUME, SOFT, STOP, words

#: number of intervals over which a valve is averaged; finer than the page's resolution
_STRETCHES = 6000
#: height of one lane relative to a panel, and of the smallest panel
_LANE, _LEAST = 0.2, 1.0


def valve_panels(run: PlottedRun) -> list[Panel]:
    """A lane for each thruster, filled as far as its valve is open; hatched where the thruster has failed."""

    def draw(axes: Axes) -> None:
        starts = np.arange(0, len(run.t), -(-len(run.t) // _STRETCHES))
        weight = run.weight[:, None]
        opening = np.add.reduceat(run.opening * weight, starts) / np.add.reduceat(weight, starts)
        edges = np.append(run.t[starts], run.end)
        for lane, height in enumerate(np.vstack((opening, opening[-1:])).T):
            axes.fill_between(edges, lane + 0.4, lane + 0.4 - 0.8 * height, step="post", color=PLUME, lw=0.5)
            axes.axhline(lane + 0.4, color=PALE, lw=0.8)
            if run.thrusters[lane].failed:
                axes.axhspan(lane - 0.4, lane + 0.4, fc="none", ec=SOFT, hatch="//////", lw=0.0, zorder=0.5)
        axes.set_ylim(len(run.thrusters) - 0.4, -0.6)
        several = len(run.bed.devices_of(Thrusters)) > 1
        valves = run.bed.thruster_names if several else [unit.name for unit in run.thrusters]
        names = [words(name) + " failed" * unit.failed for name, unit in zip(valves, run.thrusters, strict=True)]
        axes.set_yticks(range(len(names)), names, fontsize=8)
        for unit, label in zip(run.thrusters, axes.get_yticklabels(), strict=True):
            label.set_color(STOP if unit.failed else SOFT)
        axes.grid(visible=False, axis="y")
        axes.set_ylabel("valves")

    return [Panel(draw, height=max(_LEAST, _LANE * len(run.thrusters)))] if run.thrusters else []
