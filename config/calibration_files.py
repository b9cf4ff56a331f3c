"""Calibrations that a testbed names: their files are read, and their values replace those of the testbed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from granite.config import overrides as changes
from granite.config.calibration import CalibrationTable
from granite.config.errors import InputError
from granite.config.parts import absolute_path
from granite.config.paths import content_of, missing_part

#: keys of the table that names a file
_NAMING = {"file", "max_age_days"}


def absolute_files(named: Any, folder: Path) -> Any:
    """The value of a key `calibration` with the paths of its files made absolute."""
    if isinstance(named, str):
        return absolute_path(named, folder)
    if isinstance(named, list):
        return [absolute_files(name, folder) for name in named]
    if isinstance(named, dict) and set(named) <= _NAMING and isinstance(named.get("file"), str):
        return {**named, "file": absolute_files(named["file"], folder)}
    return named


def fill_calibrations(content: dict[str, Any], source: str) -> list[str]:
    """Read every calibration that the content of a testbed names, and put its values in the place of the others.

    Returns
    -------
    list
        The keys of these values.

    Raises
    ------
    InputError
        Where a file is missing or is not a calibration, or a value does not fit.
    """
    devices = content.get("devices")
    modules = content.get("modules")
    tables = [(f"devices.{name}", table) for name, table in (devices if isinstance(devices, dict) else {}).items()]
    for i, table in enumerate(modules if isinstance(modules, list) else []):
        tables.append((f"modules.{changes.label(content['modules'], i)}", table))
    tables.append(("floor", content.get("floor")))
    safety = content.get("safety")
    tables.append(("safety.monitor", safety.get("monitor") if isinstance(safety, dict) else None))
    keys: list[str] = []
    for key, table in tables:
        if isinstance(table, dict) and table.get("calibration"):
            named = table["calibration"]
            filled = [_filled(entry, f"{key}.calibration", source) for entry in _listed(named)]
            table["calibration"] = [calibration for calibration, _ in filled]
            for calibration, is_new in filled:
                if is_new:
                    keys += _apply(content, calibration, f"{key}.calibration", source)
    return keys


def read_calibration(file: Path) -> dict[str, Any]:
    """The checked content of a file; `InputError` where it is none."""
    try:
        content = tomllib.loads(content_of(file).decode("utf-8-sig"))
        CalibrationTable.model_validate(content)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(missing_part(file), expected="a file that granite calibrate wrote") from None
    except OSError as error:
        raise InputError(f"not readable ({error.strerror})", expected="a file that granite calibrate wrote") from None
    except ValidationError as failure:
        first = failure.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(f"not a calibration ({where}: {first['msg']})", expected="one of granite calibrate") from None
    except ValueError as error:
        raise InputError(f"not valid TOML, {error}", expected="a file that granite calibrate wrote") from None
    return content


def _listed(named: Any) -> list[Any]:
    return named if isinstance(named, list) else [named]


def _filled(named: Any, key: str, source: str) -> tuple[Any, bool]:
    """The content of a calibration, and whether it was read now."""
    table = {"file": named} if isinstance(named, str) else named
    if not isinstance(table, dict) or not isinstance(table.get("file"), str):
        expected = "the name of a file, or { file = NAME, max_age_days = DAYS }"
        raise InputError(file=source, key=key, value=named, expected=expected)
    if not set(table) <= _NAMING:  # as in a log: read before
        return table, False
    try:
        return {**read_calibration(Path(table["file"])), **table}, True
    except InputError as refusal:
        raise InputError(
            refusal.problem, file=source, key=key, value=table["file"], expected=refusal.expected
        ) from None


def _apply(content: dict[str, Any], calibration: dict[str, Any], key: str, source: str) -> list[str]:
    for value in calibration["values"]:
        try:
            changes.assign(content, value["key"].split("."), value["value"])
        except InputError as refusal:
            raise refusal.within(f"{key} {calibration['file']}", file=source) from None
    return [value["key"] for value in calibration["values"]]
