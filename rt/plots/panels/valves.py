"""When the valves of the thrusters were open."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from granite.rt.plots.look import PALE, PLUME, words
from granite.rt.plots.panels.panel import Panel
from granite.rt.plots.run import Run

#: stretches of time over which a valve is averaged; finer than the page can show
_STRETCHES = 6000


def valve_panels(run: Run) -> list[Panel]:
    """A lane for each thruster, filled as far as its valve is open."""

    def draw(axes: Axes) -> None:
        starts = np.arange(0, len(run.t), -(-len(run.t) // _STRETCHES))
        opening = np.add.reduceat(run.opening, starts) / np.diff(starts, append=len(run.t))[:, None]
        edges = np.append(run.t[starts], run.end)
        for lane, height in enumerate(np.vstack((opening, opening[-1:])).T):
            axes.fill_between(edges, lane + 0.4, lane + 0.4 - 0.8 * height, step="post", color=PLUME, lw=0.5)
            axes.axhline(lane + 0.4, color=PALE, lw=0.8)
        axes.set_ylim(len(run.thrusters) - 0.4, -0.6)
        axes.set_yticks(range(len(run.thrusters)), [words(unit.name) for unit in run.thrusters], fontsize=8)
        axes.grid(visible=False, axis="y")
        axes.set_ylabel("valves")

    return [Panel(draw, height=1.5)] if run.thrusters else []
