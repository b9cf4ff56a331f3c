"""Checks of the machine, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from granite.rt.checks.doctor import Finding
from granite.views.table import table


def doctor_table(findings: Sequence[Finding]) -> Table:
    """Each check with its status and advice."""
    colour = {"ok": "green", "limited": "yellow", "missing": "red"}
    rows = [
        (f.name, Text(f.status, colour[f.status]), f"{f.observed}\n{f.advice}" if f.advice else f.observed)
        for f in findings
    ]
    return table("This machine", ("what", "status", "found, and what to do about it"), rows, sentences=1)
