"""Which state a state machine was in when."""

from __future__ import annotations

from matplotlib.axes import Axes

from granite.rt.plots.look import PALE, PATH, words
from granite.rt.plots.panels.panel import Panel
from granite.rt.plots.run import PlottedRun

#: height of one lane relative to a panel
_LANE = 0.17


def machine_state_panels(run: PlottedRun) -> list[Panel]:
    """A lane for each state in the order of their first time, filled while the machine is in it."""
    names = list(dict.fromkeys(change.name for change in run.states))

    def draw(axes: Axes) -> None:
        ends = [*(change.t for change in run.states[1:]), run.end]
        for change, end in zip(run.states, ends, strict=True):
            # The edge keeps a state of a single tick visible.
            bar = [(change.t, end - change.t)], (names.index(change.name) - 0.35, 0.7)
            axes.broken_barh(*bar, fc=PATH, ec=PATH, lw=1.5, zorder=2)
        for lane in range(len(names)):
            axes.axhline(lane + 0.5, color=PALE, lw=0.8)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)), [words(name) for name in names], fontsize=8)
        axes.grid(visible=False, axis="y")
        axes.set_ylabel("state")

    return [Panel(draw, height=min(0.4 + _LANE * len(names), 2.4))] if len(names) > 1 else []
