"""Signals over time, one panel below the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure

from granite.views.plots.panels.audit import audit_panels
from granite.views.plots.panels.bending import bending_panels
from granite.views.plots.panels.forces import contact_force_panels, torque_panels, wrench_panels
from granite.views.plots.panels.lanes import contact_state_panels, machine_state_panels, run_mode_panels, valve_panels
from granite.views.plots.panels.motion import motion_panels, tracking_panels
from granite.views.plots.panels.panel import Panel
from granite.views.plots.panels.step_times import step_time_panels
from granite.views.plots.run import PlottedRun

STATES, MODES = "states", "modes"
#: every kind of panel by its name in `--panels`, from top to bottom
_KINDS: dict[str, Callable[[PlottedRun], list[Panel]]] = {
    MODES: run_mode_panels,
    STATES: machine_state_panels,
    "tracking": tracking_panels,
    "motion": motion_panels,
    "bending": bending_panels,
    "torques": torque_panels,
    "wrench": wrench_panels,
    "valves": valve_panels,
    "contacts": contact_force_panels,
    "closed": contact_state_panels,
    "audit": audit_panels,
    "steps": step_time_panels,
}


def time_panels(run: PlottedRun) -> dict[str, list[Panel]]:
    """The panels for which this run has data, by kind."""
    kinds = {name: kind(run) for name, kind in _KINDS.items()}
    return {name: panels for name, panels in kinds.items() if panels}


def draw_time_panels(figure: SubFigure, run: PlottedRun, panels: Sequence[Panel]) -> list[Axes]:
    """One below the other, with one axis of time."""
    if not panels:
        return []
    heights = [panel.height for panel in panels]
    column = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0])
    for axes, panel in zip(column, panels, strict=True):
        panel.draw(axes)
    figure.align_ylabels(column)
    column[-1].set_xlim(float(run.t[0]), run.end)
    column[-1].set_xlabel("time [s]")
    return column
