"""Sensible magnitudes of the numbers in a testbed, by the unit of their key.

They are far beyond any robot on a table, and small enough that sums and products of them stay finite. A field may have
a tighter bound of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

from granite.config.errors import InputError
from granite.config.overrides import label

#: 115 days, 1000 km, 160 000 turns, a million tonnes, 100 000 tonnes of force, 1 MHz
GREATEST = {"s": 1e7, "m": 1e6, "rad": 1e6, "kg": 1e9, "n": 1e9, "hz": 1e6}
#: of composed units, and of numbers without one
GREATEST_OF_OTHERS = 1e12
#: whole numbers that stand for nothing but themselves
_WITHOUT_MAGNITUDE = [("seed",)]

Path = tuple[str | int, ...]


def refuse_extremes(content: Any) -> None:
    """Raise where a number of a testbed's content is beyond the sensible magnitude of its unit."""
    for path, unit, number in _numbers(content, (), ""):
        greatest = GREATEST.get(unit, GREATEST_OF_OTHERS)
        # NaN and infinity have a sentence of their own.
        if greatest < abs(number) < inf and path not in _WITHOUT_MAGNITUDE:
            key = _dotted(content, path)
            expected = f"a number between {-greatest:g} and {greatest:g}"
            raise InputError(key=key, value=number, expected=expected)


def _numbers(content: Any, path: Path, unit: str) -> Iterator[tuple[Path, str, float]]:
    """Path, unit and value of every number; one without a unit of its own has that of its list or table."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from _numbers(value, (*path, name), _unit(str(name), unit))
    elif isinstance(content, list | tuple):
        for i, value in enumerate(content):
            yield from _numbers(value, (*path, i), unit)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield path, unit, content


def _unit(name: str, above: str) -> str:
    """The unit of a key if it is a single one; of a word without a unit, that of the table above."""
    before, separator, last = name.rpartition("_")
    if last in GREATEST and before.rpartition("_")[2] not in (*GREATEST, "1"):
        return last
    return "" if separator else above


def _dotted(content: Any, path: Path) -> str:
    """The key as a user types it; a vector is one value, without the index of its number."""
    words = []
    for step in path:
        container, content = content, content[step]
        if isinstance(container, dict):
            words.append(str(step))
        elif isinstance(content, dict) and isinstance(step, int):
            words.append(label(container, step))
    return ".".join(words)
