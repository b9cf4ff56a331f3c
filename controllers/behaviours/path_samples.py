"""Samples of a path, as a testbed names it: a CSV file, or a function in a Python file.

Both become columns of numbers by key: `t_s`, and of any coordinates their position (`base_x_m`), and if known their
rate (`base_x_m_s`) and acceleration (`base_x_m_s2`). The columns are a part of the testbed from then on, so that a log
replays without the file.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from granite.config.base import Table
from granite.config.errors import InputError, shown
from granite.config.parts import in_file
from granite.config.paths import content_of, missing_part

TIME = "t_s"
#: rows of a path
MOST_ROWS = 20_000
#: a longer step than this many usual ones is a gap
_GAP = 10.0
#: what a function may return instead of a number
_NUMBER = (int, float, np.floating, np.integer)


class Column(Table):
    """The values of one quantity in every row."""

    key: str  #: of the quantity
    values: tuple[float, ...]  #: one in every row


class Samples(Table):
    """The rows of a path, by column; the first is the time."""

    #: the file or function that they were read from
    source: str
    columns: tuple[Column, ...]  #: the time first


def is_function(path: str) -> bool:
    """Whether a path is `FILE.py:NAME`."""
    return ".py:" in path


def read_csv(path: str, gap_s: float | None) -> Samples:
    """The rows of a CSV file: a line with the keys, then a line of numbers for each time.

    Raises
    ------
    InputError
        With the line and the column; without key and value, because the caller knows them.
    """
    try:
        lines = list(csv.reader(_text(Path(path)).splitlines()))
    except csv.Error as error:
        raise InputError(f"not a CSV file ({error})", expected="lines of numbers with commas between them") from None
    filled = [(i, line) for i, line in enumerate(lines, start=1) if any(cell.strip() for cell in line)]
    if not filled:
        raise InputError("the file is empty", expected=f"a line with keys, {TIME} first, then lines of numbers")
    (first, header), *rows = filled
    keys = [cell.strip() for cell in header]
    _refuse_keys(keys, f"line {first}")
    if len(rows) > MOST_ROWS:
        raise InputError(f"{len(rows)} rows", expected=f"at most {MOST_ROWS}")
    numbers = [_numbers(row, keys, line) for line, row in rows]
    _refuse_times([row[0] for row in numbers], [f"line {line}" for line, _ in rows], gap_s)
    return _samples(path, keys, numbers)


def sample_function(path: str, duration_s: float, sample_s: float) -> Samples:
    """A function at regular times from 0 to the duration; it returns numbers by key.

    Raises
    ------
    InputError
        Where it can't be imported, raises, or returns something else; without key and value, as `read_csv`.
    """
    count = max(1, round(duration_s / sample_s))
    if count > MOST_ROWS:
        raise InputError(f"{count} samples", expected=f"at most {MOST_ROWS}: a longer sample_s")
    try:
        function = in_file(path)
    except InputError as refusal:
        raise InputError(refusal.problem, expected=refusal.expected) from None
    if not callable(function):
        raise InputError("not a function", expected="def NAME(t): a number for each coordinate, by key")
    keys: list[str] = []
    numbers = []
    for t in np.linspace(0.0, duration_s, count + 1).tolist():
        pose = _evaluated(function, t)
        keys = keys or [TIME, *pose]
        if [TIME, *pose] != keys:
            raise InputError(
                f"at t = {t:g} s it returned {', '.join(pose) or 'nothing'}", expected=f"{', '.join(keys[1:])} as at 0"
            )
        numbers.append([t, *pose.values()])
    _refuse_keys(keys, "its result")
    return _samples(path, keys, numbers)


def given_samples(source: str, columns: Mapping[str, Sequence[float]]) -> Samples:
    """The rows of a path that is given by column, checked as those of a file.

    Raises
    ------
    InputError
        As `read_csv`.
    """
    keys, values = list(columns), list(columns.values())
    _refuse_keys(keys or [""], "columns")
    for key, column in columns.items():
        if not isinstance(column, Sequence) or len(column) != len(values[0]):
            raise InputError(f"column '{key}'", expected=f"a list of {len(values[0])} numbers, as '{TIME}'")
        for i, value in enumerate(column):
            if not isinstance(value, _NUMBER) or isinstance(value, bool) or not isfinite(value):
                raise InputError(f"row {i + 1}, column '{key}': {shown(str(value))}", expected="a finite number")
    rows = list(zip(*values, strict=True))
    _refuse_times([row[0] for row in rows], [f"row {i + 1}" for i in range(len(rows))], None)
    return _samples(source, keys, rows)


def _samples(source: str, keys: Sequence[str], rows: Sequence[Sequence[float]]) -> Samples:
    columns = zip(keys, zip(*rows, strict=True), strict=True)
    return Samples(source=source, columns=tuple(Column(key=key, values=tuple(values)) for key, values in columns))


def _text(path: Path) -> str:
    expected = "a CSV file, or FILE.py:FUNCTION"
    try:
        return content_of(path).decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(missing_part(path), expected=expected) from None
    except UnicodeDecodeError:
        raise InputError("not text in UTF-8", expected=expected) from None
    except OSError as error:
        raise InputError(f"not readable ({error.strerror})", expected=expected) from None


def _refuse_keys(keys: Sequence[str], where: str) -> None:
    if keys[:1] != [TIME]:
        raise InputError(f"{where}: the first column is {shown(keys[0])}", expected=f"'{TIME}'")
    if len(keys) < 2:
        raise InputError(f"{where}: no coordinate", expected=f"a column for each that moves, after '{TIME}'")
    for i, key in enumerate(keys):
        if key in keys[:i]:
            raise InputError(f"{where}: two columns {shown(key)}", expected="each once")


def _numbers(row: Sequence[str], keys: Sequence[str], line: int) -> list[float]:
    if len(row) != len(keys):
        raise InputError(f"line {line}: {len(row)} values", expected=f"{len(keys)}, one for each column")
    numbers = []
    for key, cell in zip(keys, row, strict=True):
        try:
            number = float(cell)
        except ValueError:
            number = float("nan")
        if not isfinite(number):
            raise InputError(f"line {line}, column '{key}': {shown(cell.strip())}", expected="a finite number")
        numbers.append(number)
    return numbers


def _refuse_times(times: Sequence[float], lines: Sequence[str], gap_s: float | None) -> None:
    if len(times) < 2:
        raise InputError(f"{len(times)} rows of numbers", expected="at least 2")
    steps = np.diff(times)
    for before, t, line in zip(times, times[1:], lines[1:], strict=False):
        if t <= before:
            problem = f"{line}, column '{TIME}': {t:g} {'repeats' if t == before else 'goes back from'} {before:g}"
            raise InputError(problem, expected="times that rise")
    longest = _GAP * float(np.median(steps)) if gap_s is None else gap_s
    for i, step in enumerate(steps):
        if step > longest * (1 + 1e-9):
            problem = f"{lines[i + 1]}, column '{TIME}': a gap of {step:g} s after {times[i]:g}"
            source = "ten usual steps" if gap_s is None else "gap_s"
            raise InputError(problem, expected=f"at most {longest:g} s ({source}), or a longer gap_s")


def _evaluated(function: Any, t: float) -> dict[str, float]:
    """The result of a user's function as numbers by key."""
    try:
        result = function(t)
    except (Exception, SystemExit) as error:
        raise InputError(f"at t = {t:g} s it failed with {type(error).__name__}: {error}") from error
    expected = "a number for each coordinate, by key, such as {'base_x_m': 1.0}"
    if not isinstance(result, Mapping):
        raise InputError(f"at t = {t:g} s it returned {shown(str(result))}", expected=expected)
    for key, value in result.items():
        if not isinstance(value, _NUMBER) or isinstance(value, bool) or not isfinite(value):
            raise InputError(f"at t = {t:g} s its '{key}' was {shown(str(value))}", expected="a finite number")
    return {str(key): float(value) for key, value in result.items()}
