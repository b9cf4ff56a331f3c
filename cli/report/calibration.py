"""Calibrated numbers beside those of the testbed, and of a simulated plant beside the true ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from granite.calibration.fit import COVERAGE, CalibrationFit
from granite.config.calibration import value_at
from granite.config.testbed import Testbed
from granite.views.table import table

#: more numbers than this are shown by their range
_MOST = 50


def calibration_table(kind: str, fit: CalibrationFit, bed: Testbed, truth: Mapping[str, float] | None) -> Table:
    """Each number with its deviation and expanded uncertainty, the testbed's, and the plant's where it is simulated."""
    content = bed.model_dump(mode="json")
    if truth is None and len(fit.numbers) > _MOST:
        return _many(kind, fit)
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


def _many(kind: str, fit: CalibrationFit) -> Table:
    """The range of numbers of a list, and of their uncertainties."""
    lists: dict[str, list[int]] = {}
    for i, number in enumerate(fit.numbers):
        lists.setdefault(f"{number.key.rpartition('.')[0].partition('.')[2]} [{number.unit}]", []).append(i)
    ranges = {name: (fit.values[i], fit.deviation[i], fit.expanded[i]) for name, i in lists.items()}
    rows = [
        [name, str(len(columns[0])), *(f"{column.min():.3g} ... {column.max():.3g}" for column in columns)]
        for name, columns in ranges.items()
    ]
    title = f"Calibration: {kind}, {fit.samples} measurements"
    return table(title, ["numbers", "how many", "found", "deviation", f"{COVERAGE:.0%}"], rows)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | int) else "-"
