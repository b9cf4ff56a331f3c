"""The part of a film that does not move: axes, table, target and signals, drawn once as on a plot.

Matplotlib takes a quarter of a second for this page, which is why only what moves is drawn anew in each frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib.style
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from granite.config.errors import InputError, one_of
from granite.config.records import Array
from granite.views.plots.contact_marks import draw_surfaces
from granite.views.plots.panels.panel import Panel
from granite.views.plots.paths import draw_reference
from granite.views.plots.style import STYLE
from granite.views.plots.time_panels import draw_time_panels, time_panels
from granite.views.plots.view import Sight, View, sights
from granite.views.plots.view_axes import draw_stands, draw_table, draw_zones

Picture = npt.NDArray[np.uint8]

#: size of a frame [in], and its resolution: 800 pixels wide
_WIDTH_IN, _DPI = 8.0, 100
_HEAD_IN, _PANEL_IN, _TIME_IN = 0.4, 0.88, 0.35
#: the view is at least and at most this high, with its labels [in]
_VIEW_IN, _LABELS_IN = (2.4, 3.9), (0.8, 0.55)
#: the kinds of panels that are shown beneath, unless others are named
_USUAL = ("tracking", "motion", "valves")
#: part of the colour that signals have before their time comes
_TO_COME = 0.25


class Backdrop(NamedTuple):
    """A picture, and where things are in it [pixels]."""

    picture: Picture  #: with all signals
    to_come: Picture  #: with pale signals, as before the run
    scale: Array  #: of x and y: pixels per metre
    origin: Array  #: place of x = y = 0
    time: tuple[float, float]  #: place of t = 0, and pixels per second
    panels: tuple[tuple[int, int, int, int], ...]  #: of the signals: left, top, right, bottom of each
    head: tuple[int, int]  #: right end of the line at the top, and its base

    def at(self, points: Array) -> Array:
        """Points in axes of the page, as places in the picture."""
        return self.origin + self.scale * points


def build_backdrop(view: View, parts: Sequence[str] = ()) -> Backdrop:
    """Draw it; `InputError` where this run has no signals of that name."""
    panels = _chosen(view, parts)
    sight = sights(view)[0]
    wide, high = view.extent(sight.projection)
    view_in = float(np.clip(high / wide * (_WIDTH_IN - _LABELS_IN[0]), *_VIEW_IN)) + _LABELS_IN[1]
    below_in = _PANEL_IN * sum(panel.height for panel in panels) + _TIME_IN if panels else 0.0
    lines = 2 * round((view_in + below_in + _HEAD_IN) * _DPI / 2)  # a film has an even number of them
    head = _HEAD_IN * _DPI / lines
    title = view.run.bed.title
    with matplotlib.style.context(["default", STYLE]):
        engine = ConstrainedLayoutEngine(rect=(0.01, 0.005, 0.98, 1 - head))
        figure = Figure(figsize=(_WIDTH_IN, lines / _DPI), dpi=_DPI, layout=engine)
        figure.text(0.015, 1 - 0.75 * head, title, fontsize=min(13.0, 700 / max(len(title), 1)), weight="bold")
        heights = (view_in, below_in)[: 2 if panels else 1]
        rows = figure.subfigures(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        axes: Axes = rows[0].subplots()
        _draw_still(axes, sight, np.array([wide, high]) / 2)
        column = draw_time_panels(rows[-1], view.run, panels)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        picture: Picture = np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])
        return _placed(axes, column, picture)


def _draw_still(axes: Axes, sight: Sight, half: Array) -> None:
    """Table, target, surfaces and stands; `half` is half the size of the visible area."""
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.0)
    axes.grid(visible=False)
    axes.set(xlabel=sight.projection.labels[0], ylabel=sight.projection.labels[1])
    draw_table(axes, sight)
    draw_zones(axes, sight)
    draw_reference(axes, sight)
    draw_surfaces(axes, sight.view.scene, sight.points, 0.1 * sight.view.size)
    draw_stands(axes, sight)
    drawn = sight.points[:, sight.view.scene.drawn].reshape(-1, 2)
    middle = (drawn.min(axis=0) + drawn.max(axis=0)) / 2
    axes.update_datalim([middle - half, middle + half])
    axes.autoscale_view()


def _placed(axes: Axes, column: Sequence[Axes], picture: Picture) -> Backdrop:
    """The picture with the scales of its axes; Matplotlib counts lines from below."""
    lines, width, _ = picture.shape

    def in_picture(of: Axes, *points: tuple[float, float]) -> Array:
        return np.asarray(np.array([0.0, lines]) + of.transData.transform(points) * [1.0, -1.0])

    origin, one = in_picture(axes, (0.0, 0.0), (1.0, 1.0))
    boxes = [panel.get_window_extent() for panel in column]
    panels = tuple((round(b.x0) + 1, round(lines - b.y1), round(b.x1), round(lines - b.y0)) for b in boxes)
    to_come, time = picture.copy(), (0.0, 0.0)
    for left, top, right, bottom in panels:
        future = to_come[top:bottom, left:right]
        future[:] = 255 - _TO_COME * (255.0 - future)
    if column:
        zero, second = in_picture(column[0], (0.0, 0.0), (1.0, 0.0))[:, 0].tolist()
        time = zero, second - zero
    return Backdrop(picture, to_come, one - origin, origin, time, panels, (width - 20, round(0.65 * _HEAD_IN * _DPI)))


def _chosen(view: View, parts: Sequence[str]) -> list[Panel]:
    by_kind = time_panels(view.run)
    for part in parts:
        if part not in by_kind:
            raise InputError("no such signals in this log", key="panels", value=part, expected=one_of(part, by_kind))
    return [panel for kind in by_kind if kind in (parts or _USUAL) for panel in by_kind[kind]]
