"""Shell completion: testbeds, keys of `--set`, and logs in `runs/`. Typer keeps what begins with the typed word."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from granite.config.errors import InputError
from granite.config.overrides import label


def complete_bed(incomplete: str) -> list[str]:
    """Presets, their variants, and files of testbeds."""
    from granite.config.loader import presets

    names = [f"{bed.name}{name}" for bed in presets() for name in ("", *(f"/{name}" for name, _ in bed.variants))]
    return names + _files(incomplete, "*.toml")


def complete_log(incomplete: str) -> list[str]:
    """Logs beneath the typed folder; where nothing is typed, those in `runs/`."""
    return _files(incomplete or "runs/", "*.mcap")


def complete_key(context: typer.Context) -> list[str]:
    """Keys of the testbed that was typed before."""
    from granite.config.loader import load, to_json

    bed = context.params.get("bed") or next(iter(context.args), "")
    try:
        content = json.loads(to_json(load(bed)))
    except InputError:
        return []
    return [f"{key}=" for key in _keys(content)]


def _keys(content: Any, above: str = "") -> Iterator[str]:
    """The address of every value that is no table, as `--set` takes it."""
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from _keys(value, f"{above}.{key}".lstrip("."))
    elif isinstance(content, list) and content and all(isinstance(element, dict) for element in content):
        for index, element in enumerate(content):
            yield from _keys(element, f"{above}.{label(content, index)}")
    else:
        yield above


def _files(incomplete: str, pattern: str) -> list[str]:
    """The files in the folder of an unfinished path."""
    folder = Path(f"{incomplete}-").parent
    try:
        return sorted(map(str, folder.glob(pattern)))
    except OSError:  # a folder that may not be read
        return []
