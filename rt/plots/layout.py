"""Where the parts of a page go: the view at the top left, panels at the right and, where it saves height, below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from granite.rt.plots.look import SIZE_IN
from granite.rt.plots.view import View

#: of the page, what the title takes, what a panel with its names needs at least, and the time below the last one [in]
HEAD_IN, _PANEL_IN, _TIME_IN = 0.9, 1.05, 0.3
#: of the view, what is written around each projection, and the legend above [in]
_AROUND_IN, _LEGEND_IN = (0.8, 0.55), 0.5
#: a higher view is drawn smaller [in]
_HIGHEST_IN = 9.0
#: a panel moves below the view where the page gets lower by this much for it [in]
_WORTH_IN = 0.15
#: or where a view above nothing would have more height to spare than this [in]; what an empty inch costs in inches
_SPARE_IN, _EMPTY = 1.5, 0.3
#: columns of a page against each other, and the page without its edges
COLUMNS, _INSIDE = (1.2, 1.0), 0.985


class ViewLayout(NamedTuple):
    """Room for the view on the page."""

    inch: float  #: what an inch of it shows [m]
    heights: list[float]  #: of its projections [in]

    @property
    def height(self) -> float:
        """Of all of it [in]."""
        return sum(self.heights) + _LEGEND_IN


class PageLayout(NamedTuple):
    """Room for everything."""

    height: float  #: of the page [in]
    below: int  #: so many panels stand below the view, the last ones


def lay_out_view(view: View | None, width: float) -> ViewLayout:
    """As wide as the column [in], unless it gets too high."""
    if view is None:
        return ViewLayout(1.0, [width])
    extents = [view.extent(projection) for projection in view.projections]
    wide, high = max(w for w, _ in extents), sum(h for _, h in extents)
    inch = max(wide / (width - _AROUND_IN[0]), high / _HIGHEST_IN)
    return ViewLayout(inch, [h / inch + _AROUND_IN[1] for _, h in extents])


def column_width(alone: bool) -> float:
    """Of the view's column [in]."""
    return SIZE_IN[0] * _INSIDE * (1.0 if alone else COLUMNS[0] / sum(COLUMNS))


def lay_out_page(heights: Sequence[float], view_height: float) -> PageLayout:
    """The lowest page for panels of these heights, on which little room beside the view is left empty."""
    inches = [_PANEL_IN * height for height in heights]

    def height(below: int) -> float:
        beside = sum(inches[: len(inches) - below])
        under = sum(inches[len(inches) - below :]) + (_TIME_IN if below else 0.0)
        return max(SIZE_IN[1], HEAD_IN + max(view_height + under, beside + _TIME_IN))

    def cost(below: int) -> float:
        empty = height(0) - HEAD_IN - view_height - _SPARE_IN
        return height(below) + (_WORTH_IN * below if below else _EMPTY * max(empty, 0.0))

    most = max(len(inches) - 1, 0) if view_height else 0
    below = min(range(most + 1), key=cost)
    return PageLayout(height(below), below)
