"""The logs of a folder, two lines for each run: results, then testbed and changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from textwrap import fill
from typing import Any

from granite.logs.overview import Overview, final_error
from granite.logs.run_summary import RunSummary

#: a log that can't be read, and why
Unreadable = tuple[Path, str]
_COLUMNS = ("log", "when", "time", "ended", "last 5 s")
_BELOW: dict[str, Any] = {
    "initial_indent": "  ", "subsequent_indent": "    ", "break_long_words": False, "break_on_hyphens": False,
}  # fmt: skip


def runs_lines(runs: Sequence[Overview], unreadable: Sequence[Unreadable], width: int) -> Iterator[str]:
    """A line of names and numbers that are never cut, then testbed and changes, indented and wrapped to the width."""
    rows = [(run.path.name, _when(run.when), *_outcome(run.summary)) for run in runs]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()

    if rows:
        yield line(_COLUMNS)
    for run, row in zip(runs, rows, strict=True):
        yield line(row)
        facts = [run.info.get("bed", "?"), *run.changes]
        facts += ["cut off, or still being recorded"] if run.summary is None else []
        yield fill(", ".join(facts), max(width, 40), **_BELOW)
    if unreadable:
        yield ""
        yield from (f"not readable: {why}" for _, why in unreadable)


def runs_json(runs: Sequence[Overview], unreadable: Sequence[Unreadable]) -> list[dict[str, Any]]:
    """The same for scripts."""
    readable = [
        {
            "log": str(run.path),
            "bed": run.info.get("bed"),
            "seed": run.info.get("seed"),
            "mode": run.info.get("mode"),
            "changes": run.changes,
            "when": run.when.isoformat(),
            "duration_s": run.summary.get("duration_s") if run.summary else None,
            "ended": run.summary.get("ended") if run.summary else "cut",
            "final_error": final_error(run.summary),
        }
        for run in runs
    ]
    return [*readable, *({"log": str(path), "not_readable": why} for path, why in unreadable)]


def _when(time: datetime) -> str:
    return f"{time:%d %b %H:%M}" if time.year == datetime.now().year else f"{time:%Y-%m-%d}"


def _in_thousandths(value: float | None, unit: str) -> str:
    """A small error as people say it: 0.39 mm."""
    return "-" if value is None else f"{_digits(1e3 * value)} m{unit}"


def _digits(value: float) -> str:
    """Two digits, but no exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2g}"


def _outcome(summary: RunSummary | None) -> tuple[str, str, str]:
    if summary is None:
        return "-", "cut", "-"
    errors = ", ".join(_in_thousandths(value, unit) for unit, value in final_error(summary).items())
    duration = summary.get("duration_s")
    return "-" if duration is None else f"{duration:g} s", str(summary.get("ended", "-")), errors or "-"
