"""The page of a run: motion in space at the left, signals over time at the right and below."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from granite.config.errors import InputError, one_of
from granite.logs.log import Log
from granite.views.plots.events import mark_events
from granite.views.plots.layout import COLUMNS, HEAD_IN, ViewLayout, column_width, lay_out_page, lay_out_view
from granite.views.plots.panels.panel import Panel
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import DPI, SIZE_IN, SOFT, STOP
from granite.views.plots.time_panels import MODES, STATES, draw_time_panels, time_panels
from granite.views.plots.view import View, known_ticks
from granite.views.plots.view_axes import draw_nothing, draw_view, to_one_scale

#: the part of the page that shows the motion in space
_VIEW = "view"
#: letters that fit into the second line, and letters of one change
_LINE, _CHANGE = 150, 60


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


def write_title(figure: Figure, log: Log, run: PlottedRun) -> None:
    """Name, seed, duration, definition of the error, duration of a tick, changes."""
    bed = log.bed
    facts = [bed.name, f"seed {bed.seed}", f"{run.end - float(run.t[0]):.4g} s"]
    facts += [f"error = {run.measure} − reference"] if bed.controller else []
    facts += [_tick_time(run)] if run.is_realtime else []
    changes: list[str] = json.loads(log.info.get("changes", "[]"))
    if changes:
        facts.append(_shortened(changes, _LINE - len("  ·  ".join(facts))))
    above, title, line = (1 - down / figure.get_figheight() for down in (0.13, 0.38, 0.73))
    figure.text(0.015, title, bed.title, fontsize=min(20.0, 1500 / max(len(bed.title), 1)), weight="bold", va="center")
    figure.text(0.015, line, "  ·  ".join(facts), fontsize=11, color=SOFT, va="center")
    if not log.complete or "recovered" in log.info:
        lack = "the log is truncated: the run continued" if not log.complete else f"recovered: {log.info['recovered']}"
        figure.text(0.985, above, lack[:_LINE], fontsize=10, color=STOP, va="center", ha="right")


def _tick_time(run: PlottedRun) -> str:
    taken = 1e3 * run.tick_time[np.isfinite(run.tick_time)]
    median, late = np.percentile(taken, (50, 99))
    return f"tick of {1e3 * run.bed.loop.period_s:.3g} ms, taking {median:.2g} ms (99 %: {late:.2g} ms)"


def _shortened(changes: list[str], room: int) -> str:
    """As many changes as fit, long ones shortened in the middle, and the number of those left out."""
    half = _CHANGE // 2
    short = [change if len(change) <= _CHANGE else f"{change[:half]}…{change[-half:]}" for change in changes]
    for n in range(len(short), 0, -1):
        text = f"changed: {', '.join(short[:n])}" + (f" and {len(short) - n} more" if n < len(short) else "")
        if len(text) <= room:
            return text
    return f"{len(short)} keys changed"
