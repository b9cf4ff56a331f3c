"""Which contacts were closed when, where that changed."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from granite.views.plots.panels.panel import Panel
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import CONTACT, PALE, STAND, WARNING, words

#: colour of a contact that is closed, slips, or is commanded to close but out of reach
_COLOURS = {1.0: CONTACT, 2.0: WARNING, 3.0: STAND}
#: height of one lane relative to a panel
_LANE = 0.2


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
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.grid(visible=False, axis="y")
        axes.set_ylabel("closed")

    changed = bool((np.diff(run.contact_state, axis=0) != 0).any())
    return [Panel(draw, height=min(0.4 + _LANE * len(names), 2.0))] if changed else []
