"""A panel, the names above it, and its most frequent kind: lines with names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D

from granite.config.records import Array
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import SOFT, colours

#: number of letters that fit into one row, with 5 more for each name: large ones, and small ones
_LARGE, _SMALL = 55, 78
#: of more names only the first and the last are written
_NAMES = 12
#: longest joined name in letters; of a longer one only the first and the last name are written
_JOINED = 45
#: number of colours in the legend key of several lines
_SHOWN = 4
#: the range of a panel is at least this part of the largest value
_CALM = 1e-3
#: and at least this much, in any unit
_NOTHING = 1e-9
#: lines closer than these parts of the panel's range are equal, or look equal
_EQUAL, _ALIKE = 1e-6, 4e-3
#: length of a dash, in widths of the line
_DASH = 5.0
#: height of one more row of a legend, as a part of a panel
_ROW = 0.17


class Entry(NamedTuple):
    """A name, and one line or several that coincide."""

    name: str
    lines: tuple[Artist, ...]


def joined(names: Sequence[str], equal: bool) -> str:
    """One name for lines that coincide."""
    sign = " = " if equal else " ≈ "
    title = sign.join(names)
    return title if len(title) <= _JOINED else f"{names[0]}{sign}…{sign}{names[-1]} ({len(names)} lines)"


def legend_rows(names: Sequence[str]) -> int:
    """How many rows of names stand above a panel."""
    return 1 if len(names) > _NAMES else -(-len(names) // _columns(names))


def add_legend(axes: Axes, entries: Sequence[Entry]) -> None:
    """Above the panel; of many names only the first and the last, between which the colours shade."""
    if len(entries) > _NAMES:
        entries = [entries[0]._replace(name=f"{entries[0].name}  …"), entries[-1]]
    names = [entry.name for entry in entries]
    axes.legend(
        [entry.lines[:_SHOWN] if len(entry.lines) > 1 else entry.lines[0] for entry in entries],
        names,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=_columns(names),
        fontsize=9.5 if _in_one_row(names) <= _LARGE else 8.0,
        columnspacing=1.5,
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.2)},
    )


def _columns(names: Sequence[str]) -> int:
    if _in_one_row(names) <= _SMALL:
        return max(len(names), 1)
    return max(_SMALL // (max(map(len, names)) + 5), 1)


def _in_one_row(names: Sequence[str]) -> int:
    return sum(map(len, names)) + 5 * len(names)


class Panel(NamedTuple):
    """A function that draws, and the height relative to other panels."""

    draw: Callable[[Axes], None]
    height: float = 1.0


class Line(NamedTuple):
    """A series with its colour."""

    values: Array
    colour: str


def lines(
    run: PlottedRun, label: str, named: Mapping[str, Line], zero: bool = False, width: float = 1.3, alone: bool = False
) -> Panel:
    """A panel of series by name, with a line at zero if wanted; a single name is written only if `alone`.

    Lines that coincide are dashed in turn so that each is visible, and the legend joins their names.
    """
    groups = lines_on_each_other(named)

    def draw(axes: Axes) -> None:
        if zero:
            axes.axhline(0, color=SOFT, lw=0.8)
        for group in groups.values():
            for i, name in enumerate(group):
                style = (i * _DASH, (_DASH, (len(group) - 1) * _DASH)) if i else "-"
                axes.plot(run.t, named[name].values, color=named[name].colour, ls=style, lw=width, label=name)
        axes.set_ylabel(label)
        _calm(axes)
        if alone or len(named) > 1:
            keys = {title: [Line2D([], [], color=named[name].colour) for name in g] for title, g in groups.items()}
            add_legend(axes, [Entry(title, tuple(lines)) for title, lines in keys.items()])

    return Panel(draw, 1.0 + _ROW * (legend_rows(list(groups)) - 1))


def lines_on_each_other(named: Mapping[str, Line]) -> dict[str, list[str]]:
    """Names of lines that look equal, by their joint name: `a = b` if equal, `a ≈ b` if nearly."""
    every = np.array([line.values for line in named.values()]).reshape(len(named), -1)
    span = max(float(np.nanmax(every, initial=-np.inf) - np.nanmin(every, initial=np.inf)), _NOTHING)
    groups: list[list[str]] = []
    for name, line in named.items():
        home = next((g for g in groups if _distance(named[g[0]].values, line.values) < _ALIKE * span), None)
        if home is None:
            groups.append([name])
        else:
            home.append(name)
    return {
        joined(group, all(_distance(named[group[0]].values, named[n].values) < _EQUAL * span for n in group)): group
        for group in groups
    }


def _distance(a: Array, b: Array) -> float:
    """The largest difference; infinite where one is known and the other is not."""
    if (np.isfinite(a) != np.isfinite(b)).any():
        return np.inf
    return float(np.nanmax(np.abs(a - b), initial=0.0))


def _calm(axes: Axes) -> None:
    """Rounding errors must not fill a panel: a constant is drawn as a level line."""
    low, high = axes.get_ylim()
    least = max(_CALM * max(abs(low), abs(high)), _NOTHING)
    if high - low < least:
        axes.set_ylim(0.5 * (low + high) - least, 0.5 * (low + high) + least)


def is_something(named: Mapping[str, Line]) -> bool:
    """Whether any of the series leaves zero: a joint that a contact keeps at rest needs no panel."""
    return any(np.nanmax(np.abs(line.values), initial=0.0) > _NOTHING for line in named.values())


def coloured(named: Mapping[str, Array]) -> dict[str, Line]:
    """Series by name, each in a colour of its own."""
    return {name: Line(x, colour) for (name, x), colour in zip(named.items(), colours(len(named)), strict=True)}
