"""Tables that read the same on a narrow terminal and in a pipe.

A name or a number is never cut, only sentences are wrapped. Where even that does not fit, the table is wider than the
terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

#: a word of a sentence may be broken if it is longer than this
_LONGEST_WORD = 40
#: between columns
_GAP = 2


def put(console: Console, tables: Iterable[Table]) -> None:
    """Print tables, each with an empty line after it; a table wider than the console keeps its width."""
    for drawn in tables:
        least = sum(column.min_width or 0 for column in drawn.columns) + _GAP * (len(drawn.columns) - 1)
        if least > console.width:
            drawn.width = least
        console.print(drawn, crop=False)
        console.print()


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], sentences: int = 0, note: str = ""
) -> Table:
    """A table of names and numbers; the last `sentences` columns hold sentences, which may be wrapped; a note below."""
    filled = list(rows)
    drawn = Table(
        title=title, title_justify="left", title_style="bold", header_style="",
        caption=note or None, caption_justify="left", caption_style="",
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0),
    )  # fmt: skip
    for i, column in enumerate(columns):
        cells = [str(row[i]) for row in filled]
        wrapped = i >= len(columns) - sentences
        longest = max(map(len, (*column.split(), *(" ".join(cells).split() if wrapped else cells))))
        drawn.add_column(
            Text(column),
            justify="right" if all(map(_is_number, cells)) else "left",
            overflow="fold",
            no_wrap=not wrapped and len(column) <= longest,
            min_width=min(longest, _LONGEST_WORD) if wrapped else longest,
        )
    for row in filled:
        drawn.add_row(*row)
    return drawn


def number(value: float | None, form: str) -> str:
    """The value in this format; `-` for null: there is none, or it was not finite."""
    return "-" if value is None else format(value, form)


def vector(values: Sequence[float]) -> str:
    """The components in brackets."""
    return f"[{', '.join(f'{x:g}' for x in values)}]"


def _is_number(text: str) -> bool:
    return text.lstrip("+-")[:1].isdigit() and " " not in text
