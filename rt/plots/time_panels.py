"""What went on over time, one panel below the other, with events across them all."""

from __future__ import annotations

from matplotlib.figure import SubFigure

from granite.rt.plots.events import mark_events
from granite.rt.plots.panels.audit import audit_panels
from granite.rt.plots.panels.bending import bending_panels
from granite.rt.plots.panels.contact_forces import contact_force_panels
from granite.rt.plots.panels.contact_states import contact_state_panels
from granite.rt.plots.panels.motion import motion_panels
from granite.rt.plots.panels.panel import Panel
from granite.rt.plots.panels.step_times import step_time_panels
from granite.rt.plots.panels.torques import torque_panels
from granite.rt.plots.panels.tracking import tracking_panels
from granite.rt.plots.panels.valves import valve_panels
from granite.rt.plots.run import Run

#: every kind of panel, from top to bottom
_KINDS = (
    tracking_panels,
    motion_panels,
    bending_panels,
    torque_panels,
    valve_panels,
    contact_force_panels,
    contact_state_panels,
    audit_panels,
    step_time_panels,
)


def time_panels(run: Run) -> list[Panel]:
    """Those panels that this run has something to show in."""
    return [panel for kind in _KINDS for panel in kind(run)]


def draw_time_panels(figure: SubFigure, run: Run, panels: list[Panel]) -> None:
    """One below the other."""
    heights = [panel.height for panel in panels]
    column = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0])
    for axes, panel in zip(column, panels, strict=True):
        panel.draw(axes)
    figure.align_ylabels(column)
    column[-1].set_xlim(float(run.t[0]), run.end)
    column[-1].set_xlabel("time [s]")
    mark_events(figure, column, run)
