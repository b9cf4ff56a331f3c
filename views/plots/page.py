"""The page of a run: motion in space at the left, signals over time at the right and below."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from granite.config.errors import InputError, one_of
from granite.logs.log import Log
from granite.views.plots.events import mark_events
from granite.views.plots.layout import COLUMNS, HEAD_IN, ViewLayout, column_width, lay_out_page, lay_out_view
from granite.views.plots.panels.panel import Panel
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import DPI, SIZE_IN
from granite.views.plots.time_panels import MODES, STATES, draw_time_panels, time_panels
from granite.views.plots.title import write_title
from granite.views.plots.view import View, known_ticks
from granite.views.plots.view_axes import draw_nothing, draw_view, to_one_scale

#: the part of the page that shows the motion in space
_VIEW = "view"


def build_page(log: Log, parts: Sequence[str] = ()) -> Figure:
    """The page as a figure, to be drawn in the page's style; of the named parts only, if any are named.

    `InputError` where this run has no such part.
    """
    run = PlottedRun(log)
    panels = _chosen(run, parts)
    view = View(run, ticks) if len(ticks := known_ticks(run.q)) else None
    room = lay_out_view(view, column_width(alone=not panels)) if not parts or _VIEW in parts else None
    layout = lay_out_page([panel.height for panel in panels], room.height if room else 0.0)
    engine = ConstrainedLayoutEngine(rect=(0.005, 0.005, 0.985, 1 - HEAD_IN / layout.height))
    figure = Figure(figsize=(SIZE_IN[0], layout.height), dpi=DPI, layout=engine)
    write_title(figure, log, run)
    ratios = COLUMNS if room and panels else (1.0,)
    columns = figure.subfigures(1, len(ratios), squeeze=False, width_ratios=ratios, wspace=0.02)[0]
    beside = panels[: len(panels) - layout.below]
    below = panels[len(panels) - layout.below :]
    space = under = columns[0]
    if below:
        heights = room.height if room else 0.0, layout.height - HEAD_IN - (room.height if room else 0.0)
        space, under = space.subfigures(2, 1, height_ratios=heights)
    seen = _draw_space(space, view, room) if room else []
    over_time = draw_time_panels(columns[-1], run, beside) + draw_time_panels(under, run, below)
    states_are_named = not parts or STATES in parts
    modes_are_named = not parts or MODES in parts
    mark_events(columns[-1], over_time, run, states_are_named=states_are_named, modes_are_named=modes_are_named)
    if len(seen) > 1:
        engine.execute(figure)
        to_one_scale(seen)
    return figure


def _chosen(run: PlottedRun, parts: Sequence[str]) -> list[Panel]:
    """The panels that are named, or all; `InputError` where this run has nothing of that name."""
    by_kind = time_panels(run)
    for part in parts:
        if part not in (_VIEW, *by_kind):
            names = one_of(part, (_VIEW, *by_kind))
            raise InputError("not in this plot", key="panels", value=part, expected=names)
    return [panel for kind, panels in by_kind.items() if not parts or kind in parts for panel in panels]


def _draw_space(figure: SubFigure, view: View | None, room: ViewLayout) -> list[Axes]:
    column = list(figure.subplots(len(room.heights), 1, squeeze=False, height_ratios=room.heights)[:, 0])
    if view is None:
        draw_nothing(column[0])
    else:
        draw_view(column, view, room.inch)
    return column
