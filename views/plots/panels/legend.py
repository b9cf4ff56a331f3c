"""The names above a panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.legend_handler import HandlerTuple

#: number of letters that fit into one row, with 5 more for each name: large ones, and small ones
_LARGE, _SMALL = 55, 78
#: of more names only the first and the last are written
_NAMES = 12
#: longest joined name in letters; of a longer one only the first and the last name are written
_JOINED = 45
#: number of colours in the legend key of several lines
_SHOWN = 4


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
