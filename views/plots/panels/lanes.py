"""Panels with a lane for each state of an operated run or a state machine, each contact, and each valve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from granite.config.devices.thrusters import Thrusters
from granite.views.plots.panels.panel import Panel
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import CONTACT, PALE, PATH, PLUME, SOFT, STAND, STOP, WARNING, words

#: height of a lane of a state, and of a contact or valve, relative to a panel
_STATE, _LANE = 0.17, 0.2
#: colour of a contact that is closed, slips, or is commanded to close but out of reach
_COLOURS = {1.0: CONTACT, 2.0: WARNING, 3.0: STAND}
#: number of intervals over which a valve is averaged; finer than the page's resolution
_STRETCHES = 6000


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
        _label_lanes(axes, [words(name) for name in names], label)

    return [Panel(draw, height=min(0.4 + _STATE * len(names), 2.4))] if len(names) > 1 else []


def contact_state_panels(run: PlottedRun) -> list[Panel]:
    """A lane for each contact, filled while it is closed or commanded to close, in different colours."""
    names = [words(contact.name) for contact in run.bed.contacts]

    def draw(axes: Axes) -> None:
        for lane, state in enumerate(run.contact_state.T):
            starts = np.flatnonzero(np.diff(state, prepend=np.nan) != 0)
            edges = np.append(run.t[starts], run.end)
            for value, colour in _COLOURS.items():
                there = state[starts] == value
                bars = np.column_stack((edges[:-1], np.diff(edges)))[there]
                axes.broken_barh([(x, width) for x, width in bars], (lane - 0.35, 0.7), fc=colour)
            axes.axhline(lane + 0.5, color=PALE, lw=0.8)
        _label_lanes(axes, names, "closed")

    changed = bool((np.diff(run.contact_state, axis=0) != 0).any())
    return [Panel(draw, height=min(0.4 + _LANE * len(names), 2.0))] if changed else []


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
        several = len(run.bed.devices_of(Thrusters)) > 1
        valves = run.bed.thruster_names if several else [unit.name for unit in run.thrusters]
        names = [words(name) + " failed" * unit.failed for name, unit in zip(valves, run.thrusters, strict=True)]
        _label_lanes(axes, names, "valves")
        for unit, label in zip(run.thrusters, axes.get_yticklabels(), strict=True):
            label.set_color(STOP if unit.failed else SOFT)

    return [Panel(draw, height=max(1.0, _LANE * len(run.thrusters)))] if run.thrusters else []


def _label_lanes(axes: Axes, names: Sequence[str], label: str) -> None:
    """The names of lanes that are one apart, the first one on top."""
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.grid(visible=False, axis="y")
    axes.set_ylabel(label)
