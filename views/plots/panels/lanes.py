"""A lane for each state of something that is in one state at a time: an operated run, a state machine."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from granite.views.plots.panels.panel import Panel
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import PALE, PATH, words

#: height of one lane relative to a panel
_LANE = 0.17


def run_mode_panels(run: PlottedRun) -> list[Panel]:
    """A lane for each mode of an operated run."""
    return lanes("mode", run.run_modes, run.end)


def machine_state_panels(run: PlottedRun) -> list[Panel]:
    """A lane for each state of a state machine."""
    return lanes("state", [(change.t, change.name) for change in run.states], run.end)


def lanes(label: str, entered: Sequence[tuple[float, str]], end: float) -> list[Panel]:
    """Lanes in the order of their first time, each filled while its state lasts; none of a single state.

    Parameters
    ----------
    label
        Of the panel.
    entered
        Time [s] and name of each state that was entered, in order.
    end
        Of the last one [s].
    """
    names = list(dict.fromkeys(name for _, name in entered))

    def draw(axes: Axes) -> None:
        ends = [*(t for t, _ in entered[1:]), end]
        for (t, name), until in zip(entered, ends, strict=True):
            # The edge keeps a state of a single tick visible.
            bar = [(t, until - t)], (names.index(name) - 0.35, 0.7)
            axes.broken_barh(*bar, fc=PATH, ec=PATH, lw=1.5, zorder=2)
        for lane in range(len(names)):
            axes.axhline(lane + 0.5, color=PALE, lw=0.8)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)), [words(name) for name in names], fontsize=8)
        axes.grid(visible=False, axis="y")
        axes.set_ylabel(label)

    return [Panel(draw, height=min(0.4 + _LANE * len(names), 2.4))] if len(names) > 1 else []
