"""The testbeds that come with Granite, by name; each is loaded once in a process."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from granite.config.loader import load, presets, to_json
from granite.config.testbed import Testbed

#: what does not change which parts a run has
_LAB = {"name", "use", "title", "note", "seed", "tuning", "safety", "simulated", "simulation"}
NAMES = tuple(name for p in presets() for name in (p.name, *(f"{p.name}/{variant}" for variant, _ in p.variants)))


@functools.cache
def preset(name: str) -> Testbed:
    """The testbed as it comes, without changes."""
    return load(name)


@functools.cache
def controlled() -> tuple[str, ...]:
    """Names of the testbeds with a controller."""
    return tuple(name for name in NAMES if preset(name).controller)


def structure(bed: Testbed) -> str:
    """The parts of a run of the loop: two beds with the same differ in numbers or in the simulated lab alone."""
    return json.dumps(_without_numbers(json.loads(to_json(bed))))


def _without_numbers(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _without_numbers(value) for key, value in content.items() if key not in _LAB}
    if isinstance(content, list):
        return [_without_numbers(value) for value in content if isinstance(value, str | dict)]
    return content if isinstance(content, str | bool | None) else 0


def of_each_structure(names: Iterable[str], of: Callable[[Testbed], object] = structure) -> list[Any]:
    """The names, of which variants of a preset with the structure of one before are for `make studies`."""
    cases: list[Any] = []
    before = set()
    for name in names:
        seen = (name.split("/")[0], of(preset(name)))
        cases.append(pytest.param(name, marks=(pytest.mark.slow, pytest.mark.study)) if seen in before else name)
        before.add(seen)
    return cases


def shortened(bed: Testbed) -> Testbed:
    """A run of 5 s at most, in which all parts have worked; whole where contacts open and close on the way."""
    return bed if bed.switches else bed.with_changes({"loop.duration_s": min(5.0, bed.loop.duration_s)})
