"""From a preset's name or a file to a checked testbed.

A bed is named `free-flyer` (a preset), `free-flyer/ideal` (one of its variants), `path/to/bed.toml` (a file
of the same form) or `path/to/bed.toml/ideal`. A variant is a table `[variants.NAME]` of changes to the rest.
A module with the key `urdf` gets its bodies from that file here, and one with `like` those of another module, so
that a testbed is whole wherever it goes.
"""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pydantic import ValidationError

from granite.config import changes
from granite.config.complaints import complaint
from granite.config.errors import InputError, expected_one_of, shown
from granite.config.testbed import Testbed
from granite.config.urdf import Robot, read_urdf

_PRESETS = Path(__file__).parent / "testbeds"
#: keys of a module that say what is read, and how
_READING = ("urdf", "urdf_motors", "like", "dimension", "base")
#: where a module has the limits of its URDF while it is loaded
_LIMITS = "limits of the urdf"


class _Change(NamedTuple):
    """A value for a key, and how to begin the complaint about it."""

    blame: str
    path: Sequence[str]
    value: Any


class Preset(NamedTuple):
    """A testbed that comes with Granite, and its variants as (name, title)."""

    name: str
    title: str
    variants: list[tuple[str, str]]


def presets() -> list[Preset]:
    """The testbeds that come with Granite."""
    found = []
    for name in _preset_names():
        content = _read(_PRESETS / f"{name}.toml", name)
        variants = _take_variants(content, name)
        titles = [(variant, changed.get("title", content["title"])) for variant, changed in variants.items()]
        found.append(Preset(name, content["title"], titles))
    return found


def load(bed: str, overrides: Sequence[str] = ()) -> Testbed:
    """The testbed of that name or file, with each `key.path=value` of the overrides set."""
    path, variant = _locate(bed)
    content = _read(path, bed)
    variants = _take_variants(content, bed)
    asked = _changes_of_variant(content, variant, variants, bed) if variant is not None else []
    asked += [_change_of_override(override, bed) for override in overrides]
    source = " ".join([f"{bed} with", *(f"--set {override}" for override in overrides)]) if overrides else bed
    # A change to which robot is read, and how, comes before the changes to what was read.
    _apply(content, [change for change in asked if _is_about_reading(change.path)])
    _read_robots(content, path.parent, source)
    _copy_modules(content, source)
    _add_limits(content)
    _apply(content, [change for change in asked if not _is_about_reading(change.path)])
    return _check(content, source)


def file_of(bed: str) -> Path:
    """Where the testbed of that name stands."""
    return _locate(bed)[0]


def from_json(text: str, source: str = "stored configuration") -> Testbed:
    """The testbed that `to_json` wrote; `source` says in errors where the text is from."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        _refuse(source, f"{shown(text)} is cut off or damaged, expected JSON: {error}")
    return _check(content, source)


def to_json(bed: Testbed) -> str:
    """The whole testbed, as it goes into a log."""
    return bed.model_dump_json()


def _locate(bed: str) -> tuple[Path, str | None]:
    """The file of a bed, and the variant asked for."""
    if bed.endswith(".toml"):
        return Path(bed), None
    file, in_file, variant = bed.rpartition(".toml/")
    if in_file:
        return Path(f"{file}.toml"), variant
    name, slash, variant = bed.partition("/")
    known = _preset_names()
    if bed.lower().endswith(".urdf"):
        _refuse(bed, f"a robot, expected a testbed: a .toml file that has it as modules.M.urdf = '{Path(bed).name}'")
    if name not in known and Path(bed).is_file():
        _refuse(bed, "not a testbed, expected a preset or a file whose name ends in .toml")
    if name not in known:
        _refuse(bed or "BED", f"no preset '{name}', {expected_one_of(name, known)}, or a path to a .toml file")
    return _PRESETS / f"{name}.toml", variant if slash else None


def _preset_names() -> list[str]:
    return sorted(path.stem for path in _PRESETS.glob("*.toml"))


def _read(path: Path, bed: str) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        _refuse(bed, "not text in UTF-8, expected a TOML file")
    except FileNotFoundError:
        _refuse(bed, f"no such file, expected a TOML file or a preset ({', '.join(_preset_names())})")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        _refuse(bed, f"not readable ({reason}), expected a TOML file")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # The parser gives line and column, except for what is still open when the text ends.
        reason = str(error).replace("end of document", f"line {len(text.splitlines())}, the end")
        _refuse(bed, f"not valid TOML, {reason}")


def _take_variants(content: dict[str, Any], bed: str) -> dict[str, dict[str, Any]]:
    variants = content.pop("variants", {})
    if not isinstance(variants, dict):
        _refuse(bed, f"variants = {shown(variants)}: expected tables of changes, [variants.NAME]")
    for name, changed in variants.items():
        if not isinstance(changed, dict):
            _refuse(bed, f"variants.{name} = {shown(changed)}: expected a table of changes")
    return variants


def _changes_of_variant(
    content: dict[str, Any], variant: str, variants: dict[str, dict[str, Any]], bed: str
) -> list[_Change]:
    if variant not in variants:
        _refuse(bed, f"no variant '{variant}', {expected_one_of(variant, variants)}")
    changed, blame = variants[variant], f"{bed}: variants.{variant}"
    name = changed.get("name", content.get("name"))
    renamed = [_Change(blame, ["name"], f"{name}/{variant}")] if isinstance(name, str) else []
    return [*(_Change(blame, path, value) for path, value in changes.leaves(changed)), *renamed]


def _change_of_override(override: str, bed: str) -> _Change:
    blame = f"{bed} with --set {override}"
    try:
        return _Change(blame, *changes.parse(override))
    except ValueError as error:
        _refuse(blame, error)


def _apply(content: dict[str, Any], asked: Sequence[_Change]) -> None:
    for blame, path, value in asked:
        try:
            changes.assign(content, path, value)
        except ValueError as error:
            _refuse(blame, error)


def _is_about_reading(path: Sequence[str]) -> bool:
    return path[0] == "modules" and (len(path) < 3 or path[2] in _READING)


def _read_robots(content: dict[str, Any], folder: Path, source: str) -> None:
    """Put the robots from URDF files in the place of the files' names."""
    modules = content.get("modules")
    for i, module in enumerate(modules if isinstance(modules, list) else []):
        if isinstance(module, dict) and "urdf" in module:
            key = f"modules.{changes.label(content['modules'], i)}"
            file, robot = _read_robot(module, key, folder, source)
            module[_LIMITS] = robot["limits"]
            for part, read in (("bodies", robot["bodies"]), ("joints", robot["joints"]), ("points", robot["points"])):
                own = module.get(part, [])
                # What is no list stays as it is, to be refused with all else that is wrong.
                module[part] = read + own if isinstance(own, list) else own
            if robot["notes"] and isinstance(note := content.get("note", ""), str):
                content["note"] = f"{note}\n{Path(file).name}: {'; '.join(robot['notes'])}.".lstrip()


def _read_robot(module: dict[str, Any], key: str, folder: Path, source: str) -> tuple[str, Robot]:
    """The name of a module's URDF, and the robot in it."""
    file, dimension, base = module.pop("urdf"), module.get("dimension"), module.get("base")
    if not isinstance(file, str):
        _refuse(source, f"{key}.urdf = {shown(file)}: expected text in quotes, the path to a URDF file")
    if dimension not in ("planar", "spatial"):
        _refuse(source, f"{key}.dimension = {shown(dimension)}: expected 'planar' or 'spatial'")
    if base not in ("fixed", "floating"):
        _refuse(source, f"{key}.base = {shown(base)}: expected 'fixed' or 'floating'")
    if not isinstance(motors := module.setdefault("urdf_motors", True), bool):
        _refuse(source, f"{key}.urdf_motors = {shown(motors)}: expected true or false")
    try:
        return file, read_urdf(folder / file, dimension, base)
    except InputError as error:
        _refuse(source, f"{key}.urdf: {error}")


def _copy_modules(content: dict[str, Any], source: str) -> None:
    """Give each module that is like one before it everything of that one which it does not have itself."""
    modules = content.get("modules")
    known: dict[str, dict[str, Any]] = {}
    for i, module in enumerate(modules if isinstance(modules, list) else []):
        if not isinstance(module, dict):
            continue
        if (model := module.pop("like", None)) is not None:
            key = f"modules.{changes.label(content['modules'], i)}.like"
            if not isinstance(model, str) or model not in known:
                _refuse(source, f"{key} = {shown(model)}: no module before it, {expected_one_of(str(model), known)}")
            module.update({k: copy.deepcopy(v) for k, v in known[model].items() if k not in module})
        if isinstance(name := module.get("name"), str):
            known[name] = module


def _add_limits(content: dict[str, Any]) -> None:
    """Add the limits of URDF files to the guard and as motors, on the joints for which the testbed has none."""
    modules = content.get("modules")
    tables = [m for m in modules if isinstance(m, dict)] if isinstance(modules, list) else []
    for i, module in enumerate(tables):
        if _LIMITS not in module:
            continue
        limits, has_motors = module.pop(_LIMITS), module.pop("urdf_motors")
        # Guard and motors are the controller's, which controls the first module; without one motors may be anywhere.
        if i > 0 and content.get("controller") is not None:
            continue
        own = _values(module.get("joints"), "name")
        prefix = f"{module.get('name')}_" if len(tables) > 1 else ""
        named = {f"{prefix}{joint}": limit for joint, limit in limits.items() if joint in own}
        _add_guard(content, named)
        if has_motors:
            _add_motors(content, named)


def _add_guard(content: dict[str, Any], limits: dict[str, dict[str, float]]) -> None:
    safety = content.get("safety")
    if not isinstance(safety, dict) or not isinstance(safety.setdefault("joints", []), list):
        return
    keys = ("lower_rad", "upper_rad", "rate_rad_s")
    for joint, limit in limits.items():
        if joint not in _values(safety["joints"], "joint") and all(key in limit for key in keys):
            safety["joints"].append({"joint": joint} | {key: limit[key] for key in keys})


def _add_motors(content: dict[str, Any], limits: dict[str, dict[str, float]]) -> None:
    devices = content.setdefault("devices", {})
    if not isinstance(devices, dict) or not isinstance(devices.setdefault("motors", []), list):
        return
    for joint, limit in limits.items():
        if joint not in _values(devices["motors"], "joint") and "torque_n_m" in limit:
            devices["motors"].append({"joint": joint, "torque_limit_n_m": limit["torque_n_m"]})


def _values(tables: Any, key: str) -> list[Any]:
    """What the tables of a list have under a key."""
    return [table.get(key) for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []


def _check(content: Any, source: str) -> Testbed:
    try:
        return Testbed.model_validate(content)
    except ValidationError as failure:
        _refuse(source, complaint(failure, content))


def _refuse(source: str, reason: object) -> NoReturn:
    # One sentence on one line, whatever line breaks the input brought along.
    raise InputError(" ".join(f"{source}: {reason}".split())) from None
