"""Changes to a configuration before it is checked: the variants of a preset and `key.path=value` as typed.

An element of a list is addressed by its `name`, by the `joint` it belongs to, or by its index, for instance
`modules.vehicle.bodies.base.mass_kg`, `devices.motors.elbow.torque_limit_n_m`, `behaviour.waypoints.0.hold_s`
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from granite.config.errors import InputError, one_of

#: keys of parts: `law = "pd"` is short for `law = { kind = "pd" }`
PART_KEYS = ("estimator", "behaviour", "law", "sharing", "modulation", "driver")


def parse(override: str) -> tuple[list[str], Any]:
    """The path and the value of `key.path=value`; a value that is not TOML is plain text, and `none` is no value."""
    key, equals, text = override.partition("=")
    path = key.strip().split(".")
    if not equals or not all(path):
        raise InputError(expected="key=value, for instance loop.duration_s=10")
    return path, _value(text.strip())


def leaves(changes: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Path and value of everything in nested tables that is not itself a table; an empty one clears the table."""
    for key, value in changes.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*above, key))
        else:
            yield (*above, key), value


def assign(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set the value at the path; missing tables on the path are created."""
    here: Any = tree
    for depth, element in enumerate(path[:-1]):
        key = _key(here, element, path[:depth])
        if isinstance(here, dict):
            if here.get(key) is None:
                here[key] = {}
            if isinstance(here[key], str) and element in PART_KEYS:  # a part that is named by its kind alone
                here[key] = {"kind": here[key]}
        here = here[key]
    if tuple(path) == ("behaviour", "kind") and value != "waypoints":
        here.pop("waypoints", None)  # no other kind has them
    here[_key(here, path[-1], path[:-1])] = value


def label(elements: Sequence[Any], index: int) -> str:
    """How an element of a list is addressed: by name or joint where that is unique, else by index."""
    names = [_name(element) for element in elements]
    name = names[index] if index < len(names) else None
    return name if name is not None and names.count(name) == 1 else str(index)


def _name(element: Any) -> str | None:
    if not isinstance(element, dict):
        return None
    name = element.get("name", element.get("joint"))
    return name if isinstance(name, str) else None


def _key(here: Any, element: str, above: Sequence[str]) -> str | int:
    if isinstance(here, dict):
        return element
    where = ".".join(above)
    if not isinstance(here, list):
        raise InputError("not a table", key=where, value=here, expected=f"one that can hold '{element}'")
    labels = [label(here, i) for i in range(len(here))]
    indices = [str(i) for i in range(len(here))]
    for names in (labels, indices):
        if element in names:
            return names.index(element)
    raise InputError(f"no '{element}'", key=where, expected=one_of(element, labels))


def _value(text: str) -> Any:
    if text == "none":
        return None
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    # A line break inside the text could add a second key.
    return parsed["value"] if len(parsed) == 1 else text


def merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """A tree of changes with others on top of it; the table of a part of another kind replaces the whole part."""
    result = dict(below)
    for key, value in above.items():
        old, new = result.get(key), value
        if isinstance(old, dict) and isinstance(new, dict) and new and new.get("kind") in (None, old.get("kind")):
            new = merged(old, new)
        result[key] = new
    return result
