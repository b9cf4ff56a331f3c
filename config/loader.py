"""From a preset's name or a file to a checked testbed.

A bed is named `free-flyer` (a preset), `free-flyer/ideal` (one of its variants), `path/to/bed.toml` (a file
of the same form) or `path/to/bed.toml/ideal`. A variant is a table `[variants.NAME]` of changes to the rest.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pydantic import ValidationError

from config import changes
from config.complaints import complaint
from config.errors import InputError, expected_one_of, shown
from config.testbed import Testbed

_PRESETS = Path(__file__).parent / "testbeds"


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
    if variant is not None:
        _vary(content, variant, variants, bed)
    for override in overrides:
        try:
            changes.assign(content, *changes.parse(override))
        except ValueError as error:
            _refuse(f"{bed} with --set {override}", error)
    changed = " with " + " ".join(f"--set {override}" for override in overrides) if overrides else ""
    return _check(content, f"{bed}{changed}")


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
    if name not in known:
        _refuse(bed, f"no preset '{name}', {expected_one_of(name, known)}, or a path to a .toml file")
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


def _vary(content: dict[str, Any], variant: str, variants: dict[str, dict[str, Any]], bed: str) -> None:
    if variant not in variants:
        _refuse(bed, f"no variant '{variant}', {expected_one_of(variant, variants)}")
    for path, value in changes.leaves(variants[variant]):
        try:
            changes.assign(content, path, value)
        except ValueError as error:
            _refuse(bed, f"variants.{variant}: {error}")
    if isinstance(content.get("name"), str):
        content["name"] += f"/{variant}"


def _check(content: Any, source: str) -> Testbed:
    try:
        return Testbed.model_validate(content)
    except ValidationError as failure:
        _refuse(source, complaint(failure, content))


def _refuse(source: str, reason: object) -> NoReturn:
    # One sentence on one line, whatever line breaks the input brought along.
    raise InputError(" ".join(f"{source}: {reason}".split())) from None
