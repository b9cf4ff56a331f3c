"""What a panel is, and the one most of them are: lines with names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from granite.config.records import Array
from granite.rt.plots.look import COLOURS, SOFT, colours
from granite.rt.plots.run import Run

#: names of a legend that stand in one line, and letters, with 5 more for each name, that fit into one
_LINE, _ROW = 4, 75
#: a panel shows at least this part of the largest value
_CALM = 1e-3
#: and at least this much, in any unit
_NOTHING = 1e-9


class Panel(NamedTuple):
    """Something to draw, and how high against the others."""

    draw: Callable[[Axes], None]
    height: float = 1.0


class Line(NamedTuple):
    """A series with its colour."""

    values: Array
    colour: str
    dashed: bool = False


def lines(
    run: Run,
    label: str,
    named: Mapping[str, Line],
    zero: bool = False,
    width: float = 1.3,
    legend: bool = True,
    alone: bool = False,
) -> Panel:
    """A panel of series by name, with a line at zero and a legend if wanted; `alone`, also of a single name."""

    def draw(axes: Axes) -> None:
        if zero:
            axes.axhline(0, color=SOFT, lw=0.8)
        for name, line in named.items():
            style = "--" if line.dashed else "-"
            axes.plot(run.t, line.values, color=line.colour, ls=style, lw=width, label=name)
        axes.set_ylabel(label)
        _calm(axes)
        if legend:
            add_legend(axes, alone)

    return Panel(draw)


def _calm(axes: Axes) -> None:
    """Rounding must not fill a panel: what stays the same is drawn as a level line."""
    low, high = axes.get_ylim()
    least = max(_CALM * max(abs(low), abs(high)), _NOTHING)
    if high - low < least:
        axes.set_ylim(0.5 * (low + high) - least, 0.5 * (low + high) + least)


def is_something(named: Mapping[str, Line]) -> bool:
    """Whether any of the series leaves zero: a joint that a contact holds shut is not worth a panel."""
    return any(np.nanmax(np.abs(line.values), initial=0.0) > _NOTHING for line in named.values())


def coloured(named: Mapping[str, Array]) -> dict[str, Line]:
    """Series by name, each in a colour of its own."""
    return {name: Line(x, colour) for (name, x), colour in zip(named.items(), colours(len(named)), strict=True)}


def add_legend(axes: Axes, alone: bool = False) -> None:
    """Above the panel; of more names than there are colours only the first and the last, between which they shade.

    A single name is written where the label of the axis does not say as much (`alone`).
    """
    handles, names = axes.get_legend_handles_labels()
    if len(names) < (1 if alone else 2):
        return
    if len(names) > len(COLOURS):
        handles, names = [handles[0], handles[-1]], [f"{names[0]}  …", names[-1]]
    n, letters = len(names), sum(map(len, names))
    size = 10.0 if n <= _LINE and letters < 40 else 8.0
    columns = n if letters + 5 * n < _ROW else _LINE if max(map(len, names)) < 16 else 3
    axes.legend(handles, names, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, fontsize=size)
