"""Layout of a page: the view at the top left, panels at the right and, where it saves height, below the view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from granite.views.plots.style import SIZE_IN
from granite.views.plots.view import View

#: heights: of the title, least one of a panel with its names, and of the time axis below the last one [in]
HEAD_IN, _PANEL_IN, _TIME_IN = 0.9, 1.05, 0.3
#: margins of the view: labels around each projection, and the legend above [in]
_AROUND_IN, _LEGEND_IN = (0.8, 0.55), 0.5
#: a higher view is drawn smaller [in]
_HIGHEST_IN = 9.0
#: a panel moves below the view where that makes the page lower by this much [in]
_WORTH_IN = 0.15
#: or where more than this height below the view would stay empty [in]; cost of an empty inch in inches
_SPARE_IN, _EMPTY = 1.5, 0.3
#: ratio of the columns of a page, and the page without its margins
COLUMNS, _INSIDE = (1.2, 1.0), 0.985


class ViewLayout(NamedTuple):
    """Size of the view on the page."""

    inch: float  #: scale: length per inch of the page [m]
    heights: list[float]  #: of its projections [in]

    @property
    def height(self) -> float:
        """Of all of it [in]."""
        return sum(self.heights) + _LEGEND_IN


class PageLayout(NamedTuple):
    """Size of the page and its parts."""

    height: float  #: of the page [in]
    below: int  #: number of panels below the view, the last ones


def lay_out_view(view: View | None, width: float) -> ViewLayout:
    """As wide as the column [in], unless it gets too high."""
    if view is None:
        return ViewLayout(1.0, [width])
    extents = [view.extent(projection) for projection in view.projections]
    wide = max(w for w, _ in extents)
    high = sum(h for _, h in extents)
    inch = max(wide / (width - _AROUND_IN[0]), high / _HIGHEST_IN)
    return ViewLayout(inch, [h / inch + _AROUND_IN[1] for _, h in extents])


def column_width(alone: bool) -> float:
    """Of the view's column [in]."""
    return SIZE_IN[0] * _INSIDE * (1.0 if alone else COLUMNS[0] / sum(COLUMNS))


def lay_out_page(heights: Sequence[float], view_height: float) -> PageLayout:
    """The lowest page for panels of these heights that leaves little empty space below the view."""
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
