"""Calibrations: the file that `granite calibrate` writes, and which of them a testbed accepts.

A table of a testbed names one or several, `calibration = "calibrations/joints-2026-11-17.toml"`, or with a limit of
its age `calibration = { file = "...", max_age_days = 90 }`. The loader puts the content of the file in the place of its
name, so that the log contains it, and the values in the place of those of the testbed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Annotated, Any

from pydantic import Field, field_validator

from granite.config.base import NotNegative, Positive, Probability, Table
from granite.config.errors import InputError

MAX_AGE_DAYS = 365.0
#: keys of a table on which no fit depends
_LEFT_OUT = ("calibration", "simulated", "driver")
Numbers = float | tuple[float, ...]


class CalibratedValue(Table):
    """A measured number of a testbed, or several that belong together."""

    #: of the testbed, for instance devices.motors.torque_gain.elbow; of devices, modules, floor or the guard's monitor
    key: Annotated[str, Field(pattern=r"^(devices|modules|floor|safety\.monitor)\.")]
    value: Numbers
    #: one standard deviation
    deviation: NotNegative | tuple[NotNegative, ...]
    #: all numbers of the file are within these bounds with the probability `coverage`
    expanded: NotNegative | tuple[NotNegative, ...] | None = None
    unit: str


class CalibrationTable(Table):
    """What a procedure measured on a device or a module, and when."""

    #: as the testbed names it; empty in the file itself
    file: str = ""
    #: a run refuses an older one
    max_age_days: Positive = MAX_AGE_DAYS
    #: of the procedure: joints, force, ...
    kind: str
    #: the table of the testbed that it belongs to, for instance devices.joint_sensors
    of: str
    #: day of the measurement
    date: str
    testbed: str
    granite: str = ""
    #: measured on the simulated plant: real devices refuse it
    simulated: bool = False
    #: number of measurements in the fit
    samples: Annotated[int, Field(ge=1)]
    #: of the expanded uncertainties
    coverage: Probability | None = None
    #: fingerprint of every table of the testbed that the fit relied on
    fitted_on: Annotated[dict[str, str], Field(min_length=1)]
    values: tuple[CalibratedValue, ...] = Field(min_length=1)

    @field_validator("date")
    @classmethod
    def _is_a_day(cls, value: str) -> str:
        return day(value).isoformat()


def day(text: str) -> date:
    """A date as typed, `2026-11-17`; `InputError` for another text."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(value=text, key="date", expected="a day such as 2026-11-17") from None


def calibrations(bed: Any) -> Iterator[tuple[str, CalibrationTable]]:
    """Every calibration of a testbed with the table that names it."""
    for name, device in bed.devices.items():
        yield from ((f"devices.{name}", calibration) for calibration in getattr(device, "calibration", ()))
    for module in bed.modules:
        yield from ((f"modules.{module.name}", calibration) for calibration in module.calibration)
    yield from (("floor", calibration) for calibration in (bed.floor.calibration if bed.floor else ()))
    yield from (("safety.monitor", calibration) for calibration in bed.safety.monitor.calibration)


def refuse_unfit(bed: Any, content: Mapping[str, Any], typed: str) -> None:
    """Raise where a calibration is of another device, or was fitted on another model.

    `content` is that of the bed, and `typed` how the user named it.
    """
    for table, calibration in calibrations(bed):
        key = f"{table}.calibration"
        if calibration.of != table:
            problem = f"it is of another device, {calibration.of}"
            raise InputError(problem, key=key, value=calibration.file, expected=f"one of {table}")
        for name, mark in calibration.fitted_on.items():
            if fingerprint(content, name, (value.key for value in calibration.values)) != mark:
                changed = f"it was fitted on another model, {name} has changed since"
                expected = f"a new one: granite calibrate {typed} {calibration.kind} without this key"
                raise InputError(changed, key=key, value=calibration.file, expected=expected)


def refuse_old(bed: Any, today: date) -> None:
    """Raise where a calibration is older than allowed, or of a day to come."""
    for table, calibration in calibrations(bed):
        key, age = f"{table}.calibration", today - day(calibration.date)
        if age > timedelta(days=calibration.max_age_days):
            old = f"it is {age.days} days old ({calibration.date})"
            expected = f"at most {calibration.max_age_days:g} days (max_age_days)"
            raise InputError(old, key=key, value=calibration.file, expected=expected)
        if age < timedelta(days=-1):  # another time zone may be a day ahead
            problem = f"it is of {calibration.date}"
            raise InputError(problem, key=key, value=calibration.file, expected=f"a day before {today}")


def refuse_simulated(bed: Any, real: Iterable[str]) -> None:
    """Raise where a real device, or module or floor in a run with one, has a calibration of the simulated plant."""
    names = set(real)
    for table, calibration in calibrations(bed):
        family, _, name = table.partition(".")
        if calibration.simulated and names and (family != "devices" or name in names):
            problem = "it was measured on the simulated plant"
            expected = "one that was measured on the device"
            raise InputError(problem, key=f"{table}.calibration", value=calibration.file, expected=expected)


def fingerprint(content: Mapping[str, Any], table: str, calibrated: Iterable[str]) -> str:
    """Hash of a table of a testbed, without calibrated keys and without what no fit depends on."""
    left = json.loads(json.dumps(value_at(content, table)))
    for key in calibrated:
        if key.startswith(f"{table}."):
            _remove(left, key[len(table) + 1 :].split("."))
    return hashlib.sha256(json.dumps(_pruned(left), sort_keys=True).encode()).hexdigest()[:16]


def value_at(content: Mapping[str, Any], key: str) -> Any:
    """The value of a dotted key in the content of a testbed; None where there is none."""
    value: Any = content
    for element in key.split("."):
        value = _inside(value, element)
    return value


def _inside(table: Any, element: str) -> Any:
    """An element of a table, or of a list by its name; None where there is none."""
    if isinstance(table, dict):
        return table.get(element)
    if isinstance(table, list):
        entries = [entry for entry in table if isinstance(entry, dict)]
        named = [entry for entry in entries if element in (entry.get("name"), entry.get("joint"))]
        if not named and element.isdigit() and int(element) < len(table):
            return table[int(element)]
        return named[0] if named else None
    return None


def _remove(table: Any, path: Sequence[str]) -> None:
    for element in path[:-1]:
        table = _inside(table, element)
    if isinstance(table, dict):
        table.pop(path[-1], None)
    elif isinstance(table, list) and path[-1].isdigit() and int(path[-1]) < len(table):
        table[int(path[-1])] = None


def _pruned(table: Any) -> Any:
    """Without tables that are empty: a calibrated key may be all that a table had."""
    if isinstance(table, list):
        return [_pruned(entry) for entry in table]
    if not isinstance(table, dict):
        return table
    kept = {key: _pruned(value) for key, value in table.items() if key not in _LEFT_OUT}
    return {key: value for key, value in kept.items() if value not in ({}, None)}
