"""From a preset's name or a file to a checked testbed.

A testbed is named `free-flyer` (a preset), `free-flyer/ideal` (one of its variants), `path/to/bed.toml` (a file
of the same form) or `path/to/bed.toml/ideal`. A variant is a table `[variants.NAME]` of changes to the rest, or with
`like = "OTHER"` of changes to another variant, or to several; with `preset = "OTHER"` it is that preset.
A module with the key `urdf` gets its bodies from that file here, and one with `like` those of another module, so
that a loaded testbed is self-contained.
"""

from __future__ import annotations

import functools
import json
import pickle
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from pydantic import ValidationError

from granite.config import overrides as changes
from granite.config.calibration import refuse_unfit
from granite.config.calibration_files import absolute_files, fill_calibrations
from granite.config.coordinates import Coordinate
from granite.config.devices import KINDS
from granite.config.errors import InputError, one_of, shown
from granite.config.parts import BUILT_IN, FAMILIES, absolute, absolute_path, running_only
from granite.config.paths import content_of, missing_part
from granite.config.robots import fill_modules
from granite.config.testbed import Testbed
from granite.config.tuning import TuningFile, TuningTable
from granite.config.validation_errors import complaint

_PRESETS = Path(__file__).parent / "testbeds"
#: tables that the plant may differ in
_OF_PLANT = ("modules", "contacts", "devices")
_ALSO_OF_PLANT = (("simulation", "table"), ("safety", "keep_out"), ("safety", "footprint"), ("safety", "keep_apart"))
#: key of a variant that is a preset of its own
_PRESET = "preset"
#: key of a file: which of its variants its name alone means
_PLAIN = "plain"
#: keys of a module that determine how its URDF or the other module is read
_READING = ("urdf", "urdf_motors", "urdf_mimic", "like", "dimension", "base")


class _Change(NamedTuple):
    """A value for a key, and its origin: the file, and the key of the table of changes in it."""

    source: str
    path: Sequence[str]
    value: Any
    table: str = ""


class Preset(NamedTuple):
    """A testbed that comes with Granite, and its variants as (name, title)."""

    name: str
    title: str
    variants: list[tuple[str, str]]


def presets() -> list[Preset]:
    """The testbeds that come with Granite."""
    entries = []
    for name, content, variants, _, plain in stored_presets():
        titles = [(variant, changed.get("title", content["title"])) for variant, changed in variants.items()]
        entries.append(Preset(name, plain.get("title", content["title"]), titles))
    return entries


class StoredPreset(NamedTuple):
    """Unchecked content of a testbed that comes with Granite, and the changes of each variant."""

    name: str
    content: dict[str, Any]
    variants: dict[str, dict[str, Any]]
    #: variants that are presets of their own, and which
    elsewhere: dict[str, str]
    #: changes of the variant that the name of the preset alone means
    plain: dict[str, Any]


def stored_presets() -> Iterator[StoredPreset]:
    """Each testbed that comes with Granite, without checks."""
    for name in _preset_names():
        content = _read(_PRESETS / f"{name}.toml", name)
        elsewhere = {v: change[_PRESET] for v, change in content.get("variants", {}).items() if _PRESET in change}
        plain, variants = content.pop(_PLAIN, None), _take_variants(content, name)
        yield StoredPreset(name, content, variants, elsewhere, variants.get(plain, {}))


def load(bed: str | Path, overrides: Sequence[str] | Mapping[str, Any] = ()) -> Testbed:
    """The testbed of that name or file.

    Parameters
    ----------
    bed
        A preset (`free-flyer`), one of its variants (`free-flyer/ideal`), or a file of the same form (`my.toml`,
        `my.toml/variant`).
    overrides
        Changes to it: values by dotted key, or texts `key.path=value` as typed on the command line.

    Raises
    ------
    InputError
        Where there is no such testbed, or it has an error.

    Examples
    --------
    >>> bed = load("free-flyer", {"loop.duration_s": 10.0, "seed": 3})
    """
    bed = str(bed)
    if isinstance(overrides, Mapping):
        return changed(load(bed), overrides)
    path, variant = _locate(bed)
    content = _with_absolute_paths(_read(path, bed), path.parent)
    named, plain = content.get("variants", {}), content.pop(_PLAIN, None)
    variants = _take_variants(content, bed)
    if variant is not None and variant not in variants:
        raise InputError(f"no variant '{variant}'", file=bed, expected=one_of(variant, named))
    if plain is not None and plain not in variants:
        raise InputError("no such variant", file=bed, key=_PLAIN, value=plain, expected=one_of(str(plain), named))
    chosen, asked = variant or plain, []
    if chosen is not None:
        asked = _changes_of_variant(content, chosen, variants, bed)
        if variant is None:  # it keeps its plain name
            asked = [change for change in asked if change.path != ["name"]]
    typed = [_change_of_override(override, bed) for override in overrides]
    asked += [*_devices_of_drivers(content, [*asked, *typed], variants, bed), *typed]
    source = " ".join([f"{bed} with", *(f"--set {override}" for override in overrides)]) if overrides else bed
    # Changes of the file to read come before changes of its content.
    _apply(content, [change for change in asked if _is_about_reading(change.path)])
    fill_modules(content, path.parent, source)
    _apply(content, [change for change in asked if not _is_about_reading(change.path)])
    # What was typed names files from where it was typed.
    return _calibrated(_with_absolute_paths(content, Path()), bed, source, typed)


def load_tuning(file: str | Path) -> TuningTable:
    """The `[tuning]` table of a file of its own.

    Raises
    ------
    InputError
        Where there is no such file, or it has an error.
    """
    content = _read(Path(file), str(file))
    try:
        return TuningFile.model_validate(content).tuning
    except ValidationError as failure:
        raise complaint(failure, content, TuningFile).within(file=str(file)) from None


def changed(bed: Testbed, changes_by_key: Mapping[str, Any]) -> Testbed:
    """The testbed with other values, by dotted key; numbers of NumPy are as good as those of Python.

    Raises
    ------
    InputError
        Where there is no such key, or the value does not fit it.

    Examples
    --------
    >>> softer = changed(load("free-flyer"), {"controller.law.gains.base.stiffness_1_s2": 0.25})
    """
    content = json.loads(to_json(bed))
    if bed.tuning is not None:
        content["tuning"] = bed.tuning.model_dump(mode="json")
    asked = [_Change(f"{bed.name} with {key}", key.split("."), _plain(value)) for key, value in changes_by_key.items()]
    _apply(content, asked)
    source = f"{bed.name} with {', '.join(changes_by_key)}" if changes_by_key else bed.name
    return _calibrated(_with_absolute_paths(content, Path()), bed.name, source, asked, _looked_up(bed))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def file_of(bed: str) -> Path:
    """The file of the testbed of that name."""
    return _locate(bed)[0]


def from_json(text: str, source: str = "stored configuration", *, looked_up: str | None = None) -> Testbed:
    """The testbed that `to_json` wrote; `source` says in errors where the text is from.

    A log is read without the code of a user's own parts: `looked_up` is `parts.BUILT_IN`, or `parts.DEVICES` where the
    controllers' options do not matter. Other parts are kept unchecked; such a testbed can't be run.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        damaged = f"{shown(text)} is cut off or damaged ({error})"
        raise InputError(damaged, file=source, expected="JSON") from None
    return _check(content, source, looked_up)


def to_json(bed: Testbed) -> str:
    """The whole testbed, as recorded in a log."""
    return bed.model_dump_json()


def _locate(bed: str) -> tuple[Path, str | None]:
    """The file of a testbed, and the variant; of a variant that is another preset, that preset."""
    path, variant = _named(bed)
    variants = _read(path, bed).get("variants") if variant else None
    table = variants.get(variant) if isinstance(variants, dict) else None
    if not isinstance(table, dict) or _PRESET not in table:
        return path, variant
    other, names = table[_PRESET], _preset_names()
    if other not in names:
        key = f"variants.{variant}.{_PRESET}"
        raise InputError("no such preset", file=bed, key=key, value=other, expected=one_of(str(other), names))
    return _PRESETS / f"{other}.toml", None


def _named(bed: str) -> tuple[Path, str | None]:
    if bed.endswith(".toml"):
        return Path(bed), None
    file, in_file, variant = bed.rpartition(".toml/")
    if in_file:
        return Path(f"{file}.toml"), variant
    name, slash, variant = bed.partition("/")
    names = _preset_names()
    if bed.lower().endswith(".urdf"):
        expected = f"a testbed: a .toml file that has it as modules.M.urdf = '{Path(bed).name}'"
        raise InputError("a robot", file=bed, expected=expected)
    if name not in names and Path(bed).is_file():
        raise InputError("not a testbed", file=bed, expected="a preset or a file whose name ends in .toml")
    if name not in names:
        _refuse_unknown_name(bed, name, names)
    return _PRESETS / f"{name}.toml", variant if slash else None


def _refuse_unknown_name(bed: str, name: str, names: Sequence[str]) -> NoReturn:
    """Neither a preset nor a file: the likely one first, because the list of all presets is long."""
    guess = get_close_matches(name, names, n=1)
    others = f"one of {len(names)}: granite list --all"
    if Path(f"{bed}.toml").is_file():
        raise InputError(f"no preset '{name}'", file=bed, expected=f"'{bed}.toml', because there is such a file")
    if bed.startswith((".", "/", "~")):
        raise InputError("not a preset", file=bed, expected="a path to a file whose name ends in .toml")
    expected = f"'{guess[0]}' (or {others})" if guess else f"a preset ({others}) or a path to a .toml file"
    raise InputError(f"no preset '{name}'", file=bed or "BED", expected=expected)


def _preset_names() -> list[str]:
    return sorted(path.stem for path in _PRESETS.glob("*.toml"))


def _read(path: Path, bed: str) -> dict[str, Any]:
    try:
        text = content_of(path).decode("utf-8-sig")  # some editors put a byte-order mark in front
    except InputError as refusal:
        raise refusal.within(file=bed) from None
    except UnicodeDecodeError:
        raise InputError("not text in UTF-8", file=bed, expected="a TOML file") from None
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(missing_part(path), file=bed, expected="a TOML file, or a preset (granite list)") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"not readable ({reason})", file=bed, expected="a TOML file") from None
    try:
        content: dict[str, Any] = pickle.loads(_parsed(text))
    except (ValueError, RecursionError) as error:
        # The parser gives line and column, except for a bracket that is not closed at the end of the text.
        reason = str(error).replace("end of document", f"line {len(text.splitlines())}, the end")
        raise InputError(f"not valid TOML, {reason}", file=bed) from None
    return content


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> bytes:
    """The content of a TOML text, as bytes to make copies of: a program that loads many testbeds parses each once."""
    return pickle.dumps(tomllib.loads(text))


def _take_variants(content: dict[str, Any], bed: str) -> dict[str, dict[str, Any]]:
    variants = content.pop("variants", {})
    if not isinstance(variants, dict):
        expected = "tables of changes, [variants.NAME]"
        raise InputError(file=bed, key="variants", value=variants, expected=expected)
    for name, changed in variants.items():
        if not isinstance(changed, dict):
            raise InputError(file=bed, key=f"variants.{name}", value=changed, expected="a table of changes")
    return {name: _with_its_model(name, variants, bed) for name in variants if _PRESET not in variants[name]}


def _with_its_model(
    name: str, variants: dict[str, dict[str, Any]], bed: str, above: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A variant with the changes of the one, or of several, that it is `like` before its own."""
    variant, inherited = dict(variants[name]), dict[str, Any]()
    models = variant.pop("like", [])
    others = [other for other in variants if other not in (name, *above)]
    for model in models if isinstance(models, list) else [models]:
        if model not in others:
            key, expected = f"variants.{name}.like", ", ".join(others)
            raise InputError("no other variant of that name", file=bed, key=key, value=model, expected=expected)
        inherited = changes.merged(inherited, _with_its_model(model, variants, bed, (*above, name)))
    return changes.merged(inherited, variant)


def _changes_of_variant(
    content: dict[str, Any], variant: str, variants: dict[str, dict[str, Any]], bed: str
) -> list[_Change]:
    changed, table = variants[variant], f"variants.{variant}"
    name = changed.get("name", content.get("name"))
    renamed = [_Change(bed, ["name"], f"{name}/{variant}", table)] if isinstance(name, str) else []
    return [*(_Change(bed, path, value, table) for path, value in changes.leaves(changed)), *renamed]


def _devices_of_drivers(
    content: dict[str, Any], asked: Sequence[_Change], variants: dict[str, dict[str, Any]], bed: str
) -> list[_Change]:
    """Where a driver is of another kind of device, the changes of a variant that make the device one of that kind.

    So `devices.vision.driver=camera` takes targets and field of the camera from the variant that has them.
    """
    extra: list[_Change] = []
    for _, path, value, _ in asked:
        driver = value.get("kind") if isinstance(value, dict) else value
        if path[0] != "devices" or list(path[2:]) not in (["driver"], ["driver", "kind"]) or str(driver) not in KINDS:
            continue
        above = ("devices", path[1])
        for variant, changed in variants.items() if _kind_of(content, asked, path[1]) != driver else ():
            of_driver = [(key, value) for key, value in changes.leaves(changed) if key[:2] == above]
            if ((*above, "kind"), driver) in of_driver:
                extra += [_Change(bed, key, value, f"variants.{variant}") for key, value in of_driver]
                break
    return extra


def _kind_of(content: dict[str, Any], asked: Sequence[_Change], device: str) -> Any:
    """The kind of a device with these changes, which has its name where none is given."""
    kinds = [change.value for change in asked if list(change.path) == ["devices", device, "kind"]]
    devices = content.get("devices")
    table = devices.get(device) if isinstance(devices, dict) else None
    kind = table.get("kind", device) if isinstance(table, dict) else device
    return kinds[-1] if kinds else kind


def _change_of_override(override: str, bed: str) -> _Change:
    source = f"{bed} with --set {override}"
    try:
        return _Change(source, *changes.parse(override))
    except InputError as refusal:
        raise refusal.within(file=source) from None


def _apply(content: dict[str, Any], asked: Sequence[_Change]) -> None:
    for source, path, value, table in asked:
        try:
            changes.assign(content, path, value)
        except InputError as refusal:
            raise refusal.within(table, file=source) from None


def _is_about_reading(path: Sequence[str]) -> bool:
    return path[0] == "modules" and (len(path) < 3 or path[2] in _READING)


def plant_of(bed: Testbed) -> Testbed:
    """The testbed of the plant: with the changes of `simulation.plant`.

    Raises
    ------
    InputError
        Where a change does not fit.
    """
    if not bed.simulation.plant:
        return bed
    content = json.loads(to_json(bed))
    table = "simulation.plant"
    for path, value in changes.leaves(bed.simulation.plant):
        if path[0] not in _OF_PLANT and tuple(path[:2]) not in _ALSO_OF_PLANT:
            key = f"{table}.{'.'.join(path)}"
            expected = f"a key of {', '.join(_OF_PLANT)} or {' or '.join('.'.join(also) for also in _ALSO_OF_PLANT)}"
            raise InputError("not of the plant", file=bed.name, key=key, value=value, expected=expected)
    _apply(content, [_Change(bed.name, path, value, table) for path, value in changes.leaves(bed.simulation.plant)])
    content["simulation"]["plant"] = {}
    plant = _check(content, bed.name, _looked_up(bed), table)
    if _signals(plant) != _signals(bed):
        other = "the plant has other coordinates or signals"
        expected = "the same with other values"
        raise InputError(other, file=bed.name, key=table, expected=expected)
    return plant


def _looked_up(bed: Testbed) -> str | None:
    """A testbed from a log or a session stays one: nothing of its code is run to change it."""
    return BUILT_IN if bed.is_opaque else None


def _calibrated(
    content: dict[str, Any], name: str, source: str, typed: Sequence[_Change], looked_up: str | None = None
) -> Testbed:
    """The checked testbed with the values of its calibrations; a value that was typed replaces a calibrated one."""
    calibrated = [key.split(".") for key in fill_calibrations(content, source)]
    _apply(content, [change for change in typed if any(_is_same_or_inside(key, change.path) for key in calibrated)])
    bed = _check(content, source, looked_up)
    try:
        refuse_unfit(bed, json.loads(to_json(bed)), name)
    except InputError as refusal:
        raise refusal.within(file=source) from None
    return bed


def _is_same_or_inside(key: Sequence[str], path: Sequence[str]) -> bool:
    return list(key[: len(path)]) == list(path)


def _signals(bed: Testbed) -> list[tuple[Coordinate, ...]]:
    """Names and units of everything that a log has of the plant and of each device."""
    return [bed.positions, bed.velocities, *(d.signals(bed) for d in (bed.sensors | bed.actuators).values())]


def _with_absolute_paths(content: Any, folder: Path) -> Any:
    """The content with the files of a user's own parts and paths named by absolute paths."""
    if isinstance(content, list):
        return [_with_absolute_paths(value, folder) for value in content]
    if not isinstance(content, dict):
        return content
    devices = content.get("devices")
    if isinstance(devices, dict):
        named = {name: absolute(kind, folder) for name, kind in devices.items() if isinstance(kind, str)}
        content = {**content, "devices": {**devices, **named}}
    return {key: _named_absolutely(key, value, folder) for key, value in content.items()}


def _named_absolutely(key: str, value: Any, folder: Path) -> Any:
    """The value of a key; where the key is that of parts, each may be named by its kind alone."""
    if key == "calibration":
        return absolute_files(value, folder)
    if isinstance(value, str) and (key == "kind" or key in FAMILIES):
        return absolute(value, folder)
    if isinstance(value, str) and key == "path":
        return absolute_path(value, folder)
    if isinstance(value, list) and key in FAMILIES:
        return [_named_absolutely(key, one, folder) for one in value]
    return _with_absolute_paths(value, folder)


def _check(content: Any, source: str, looked_up: str | None = None, table: str = "") -> Testbed:
    try:
        _refuse_no_text(content)
        with running_only({}) if looked_up else nullcontext():
            return Testbed.model_validate(content, context={"looked_up": looked_up})
    except UnicodeEncodeError as error:
        problem = f"{ascii(error.object)[:60]} is no text: half of a character"
        raise InputError(problem, file=source, expected="text in UTF-8") from None
    except ValidationError as failure:
        raise complaint(failure, content).within(table, file=source) from None


def _refuse_no_text(content: Any) -> None:
    """Raise a `UnicodeEncodeError` for text that has no UTF-8, as Python and JSON can have it: no log could keep it."""
    if isinstance(content, str):
        content.encode()
    elif isinstance(content, dict | list | tuple):
        for value in (*content, *content.values()) if isinstance(content, dict) else content:
            _refuse_no_text(value)
