"""Runs side by side, as tables: a column or two for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from granite.config.errors import shown
from granite.views.table import number, table

#: largest number of differences that are printed
_DIFFERENCES = 20
_ABSENT = "-"


def comparison_tables(comparison: dict[str, Any]) -> Iterator[Table]:
    """The runs by letter, differences, errors, and results."""
    runs: dict[str, dict[str, Any]] = comparison["runs"]
    rows = [(letter, ", ".join([run["bed"], *run["changes"]]), run["log"]) for letter, run in runs.items()]
    yield table("Runs", ("run", "testbed and changes", "log"), rows, sentences=2)
    yield _differences(comparison["differences"], list(runs))
    if coordinates := _keys(runs, "tracking_error"):
        yield _errors(runs, coordinates)
    yield table("Results", ("what", *runs), _outcomes(runs), sentences=len(runs))
    if any("timing" in run for run in runs.values()):
        yield _timing(runs)


def _differences(differences: dict[str, dict[str, Any]], letters: list[str]) -> Table:
    rows = [
        (key, *(_value(values[letter]) if letter in values else _ABSENT for letter in letters))
        for key, values in list(differences.items())[:_DIFFERENCES]
    ]
    n = len(differences)
    title = "Differences of the testbeds" if n else "The testbeds do not differ"
    title += f", the first {_DIFFERENCES} of {n} (all: --json)" if n > _DIFFERENCES else ""
    return table(title, ("key", *letters), rows or [("none", *(_ABSENT for _ in letters))], sentences=len(letters))


def _value(value: Any) -> str:
    """A value as it is typed; of a table only that it exists."""
    return "there" if isinstance(value, dict) and value else shown(value)


def _errors(runs: dict[str, dict[str, Any]], coordinates: dict[str, dict[str, Any]]) -> Table:
    columns = ["coordinate", "unit", *(f"{letter} {what}" for letter in runs for what in ("rms", "last 5 s"))]
    rows = []
    for name, first in coordinates.items():
        cells = []
        for run in runs.values():
            error = run.get("tracking_error", {}).get(name, {})
            cells += [_thousandths(error.get("rms")), _thousandths(error.get("max_in_last_5_s"))]
        rows.append((name, f"m{first['unit']}", *cells))
    return table("Tracking error", columns, rows)


def _outcomes(runs: dict[str, dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    yield "ended", *(str(run.get("ended", _ABSENT)) for run in runs.values())
    yield "duration [s]", *(number(run.get("duration_s"), "g") for run in runs.values())
    propellants = [run.get("propellant", {}) for run in runs.values()]
    if any(used.get("by_thruster_n_s") for used in propellants):
        yield "propellant [g]", *(number(used.get("mass_g"), ".2f") for used in propellants)
        yield "impulse [N s]", *(number(used.get("impulse_n_s"), ".2f") for used in propellants)
        yield "pulses", *(number(used.get("pulses"), "d") for used in propellants)
    for name, first in _keys(runs, "applied").items():
        peaks = (run.get("applied", {}).get(name, {}).get("max") for run in runs.values())
        yield f"peak of {name} [{first['unit']}]", *(number(peak, ".3g") for peak in peaks)
    for name in _keys(runs, "squeeze"):
        for key, what in (("max", "largest"), ("rms", "rms")):
            forces = (run.get("squeeze", {}).get(name, {}).get(key) for run in runs.values())
            yield f"internal force of {name}, {what} [N]", *(number(force, ".3g") for force in forces)
    for key, what in (("motor_work_j", "work of the motors"), ("largest_elastic_j", "largest elastic energy")):
        if key in _keys(runs, "energy"):
            yield f"{what} [J]", *(number(run.get("energy", {}).get(key), ".3g") for run in runs.values())
    if any(run["mode"] != "virtual" for run in runs.values()):
        yield "overruns", *(number(run.get("overruns"), "d") for run in runs.values())


def _timing(runs: dict[str, dict[str, Any]]) -> Table:
    columns = ["step", *(f"{letter} {what}" for letter in runs for what in ("median [us]", "99 % [us]"))]
    rows = []
    for step in _keys(runs, "timing"):
        times = [run.get("timing", {}).get(step, {}) for run in runs.values()]
        rows.append((step, *(number(of.get(key), ".1f") for of in times for key in ("median_us", "p99_us"))))
    return table("Time of each step, runs in real time", columns, rows)


def _keys(runs: dict[str, dict[str, Any]], table_name: str) -> dict[str, Any]:
    """Everything that any of the runs has in a table of its summary, in order."""
    return {key: value for run in runs.values() for key, value in run.get(table_name, {}).items()}


def _thousandths(value: float | None) -> str:
    return number(None if value is None else 1e3 * value, ".3g")
