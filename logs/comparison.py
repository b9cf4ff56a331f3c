"""Runs side by side: differences of their testbeds, and results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from string import ascii_uppercase
from typing import Any

from granite.config.errors import InputError
from granite.config.overrides import label
from granite.logs.log import Log
from granite.logs.summary import metrics

#: keys that only name or describe a testbed
_NAMES = ("name", "title", "note", "use")
#: keys of the summary that are compared
_COMPARED = ("ended", "text", "duration_s", "tracking_error", "propellant", "applied", "squeeze", "energy", "overruns")


def compare(logs: Mapping[str, Log]) -> dict[str, Any]:
    """The runs by letter, and by key of the testbed the differences, with the value of each run that has the key.

    Parameters
    ----------
    logs
        By the name that the user gave them; two or more.
    """
    if len(logs) < 2:
        raise InputError(f"{len(logs)} log", key="LOG", expected="two or more different ones to compare")
    if len(logs) > len(ascii_uppercase):
        raise InputError(f"{len(logs)} logs", key="LOG", expected=f"at most {len(ascii_uppercase)}")
    lettered = dict(zip(ascii_uppercase, logs.items(), strict=False))
    trees = {
        letter: _by_name(log.bed.model_dump(mode="json", exclude={*_NAMES})) for letter, (_, log) in lettered.items()
    }
    return {
        "runs": {letter: {"log": name, **_run(log)} for letter, (name, log) in lettered.items()},
        "differences": dict(_differences(trees)),
    }


def _run(log: Log) -> dict[str, Any]:
    cut = {"ended": "cut", "text": "the log ends before the run did"}
    summary: Mapping[str, Any] = {**log.summary} if log.summary else {**cut, **metrics(log)}
    mode = log.info.get("mode", "virtual")
    run = {
        "bed": log.bed.name,
        "seed": log.bed.seed,
        "changes": json.loads(log.info.get("changes", "[]")),
        "mode": mode,
        **{key: summary[key] for key in _COMPARED if key in summary},
    }
    if mode != "virtual" and "timing" in summary:
        steps = summary["timing"].items()
        run["timing"] = {step: {key: times[key] for key in ("median_us", "p99_us", "max_us")} for step, times in steps}
    return run


def _differences(trees: Mapping[str, Any], key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Key by key, in the order of the testbeds; a table that not all of them have differs as a whole."""
    values = list(trees.values())
    if not all(isinstance(value, dict) for value in values):
        if any(value != values[0] for value in values):
            yield key, dict(trees)
        return
    for name in dict.fromkeys(name for value in values for name in value):
        below = f"{key}.{name}" if key else name
        there = {letter: tree[name] for letter, tree in trees.items() if name in tree}
        if len(there) == len(trees):
            yield from _differences(there, below)
        else:
            yield below, there


def _by_name(value: Any) -> Any:
    """The tree of a testbed with lists of tables as tables, by the names that a user addresses their elements by."""
    if isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        return {label(value, i): _by_name(inner) for i, inner in enumerate(value)}
    if isinstance(value, dict):
        return {name: _by_name(inner) for name, inner in value.items()}
    return value
