"""Which mode an operated run was in when."""

from __future__ import annotations

from granite.views.plots.panels.lanes import lanes
from granite.views.plots.panels.panel import Panel
from granite.views.plots.run import PlottedRun


def run_mode_panels(run: PlottedRun) -> list[Panel]:
    """A lane for each mode."""
    return lanes("mode", run.run_modes, run.end)
