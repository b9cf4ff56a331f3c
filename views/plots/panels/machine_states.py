"""Which state a state machine was in when."""

from __future__ import annotations

from granite.views.plots.panels.lanes import lanes
from granite.views.plots.panels.panel import Panel
from granite.views.plots.run import PlottedRun


def machine_state_panels(run: PlottedRun) -> list[Panel]:
    """A lane for each state."""
    return lanes("state", [(change.t, change.name) for change in run.states], run.end)
