"""The measured tables that pages show, `docs/measurements/NAME.csv`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from tests.support.pages import ROOT


def measured(name: str) -> list[dict[str, str]]:
    """The rows of a table by the names of its columns."""
    with (ROOT / "docs" / "measurements" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def as_csv(rows: Iterable[Sequence[str]]) -> str:
    """Rows as the lines of such a file."""
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().rstrip("\n")
