"""Calibrated numbers beside those of the testbed, and of a simulated plant beside the true ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from granite.calibration.fit import COVERAGE, CalibrationFit
from granite.config.calibration import value_at
from granite.config.testbed import Testbed
from granite.views.table import table


def calibration_table(kind: str, fit: CalibrationFit, bed: Testbed, truth: Mapping[str, float] | None) -> Table:
    """Each number with its deviation and expanded uncertainty, the testbed's, and the plant's where it is simulated."""
    content = bed.model_dump(mode="json")
    rows = []
    for number, value, deviation, expanded in zip(fit.numbers, fit.values, fit.deviation, fit.expanded, strict=True):
        unit = "" if number.unit == "1" else f" [{number.unit}]"
        row = [f"{number.key.partition('.')[2]}{unit}", f"{value:.6g}", f"{deviation:.2g}", f"{expanded:.2g}"]
        row.append(_shown(value_at(content, number.key)))
        if truth is not None:
            true = truth[number.key]
            row += [f"{true:.6g}", f"{(value - true) / deviation if deviation else 0.0:+.1f}"]
        rows.append(row)
    columns = ["number", "found", "deviation", f"{COVERAGE:.0%}", "testbed"]
    if truth is not None:
        columns += ["plant", "error in deviations"]
    return table(f"Calibration: {kind}, {fit.samples} measurements", columns, rows)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | int) else "-"
