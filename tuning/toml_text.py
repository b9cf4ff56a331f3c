"""A testbed as TOML that a person can read and edit, and single numbers replaced in such a file."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from granite.config.errors import InputError
from granite.config.overrides import assign
from granite.config.testbed import Testbed
from granite.tuning.parameters import value_at

_BARE = re.compile(r"[A-Za-z0-9_-]+")
#: a list that is longer than this is written one element a line
_WIDTH = 110
#: what `granite new` says of its own gains, up to the end of the line: false of others
_SAID_OF_IT = re.compile(r"\A([^\r\n#]*?)[ \t]*# [0-9.]+ rad/s, critically damped(?=\r?$)", re.MULTILINE)
_NUMBER = r"[-+]?[0-9][0-9_.eE+-]*"


def content_of(bed: Testbed) -> dict[str, Any]:
    """What was given of a testbed: without defaults, and without what has no value."""
    content: dict[str, Any] = _without_none(bed.model_dump(mode="json", exclude_unset=True))
    return content


def toml_text(content: Mapping[str, Any]) -> str:
    """The content of a file."""
    return "\n".join(_table(content, ())).lstrip("\n") + "\n"


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value


def _table(content: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Values first, because they would belong to the last table that was opened."""
    tables = {key: value for key, value in content.items() if isinstance(value, dict) and value}
    lists = {key: value for key, value in content.items() if _is_list_of_tables(value)}
    for key, value in content.items():
        if key not in tables and key not in lists:
            yield f"{_key(key)} = {toml_value(value)}"
    for key, value in tables.items():
        here = (*path, key)
        if any(not (isinstance(inner, dict) and inner) and not _is_list_of_tables(inner) for inner in value.values()):
            yield f"\n[{'.'.join(map(_key, here))}]"
        yield from _table(value, here)
    for key, value in lists.items():
        for element in value:
            yield f"\n[[{'.'.join(map(_key, (*path, key)))}]]"
            yield from _table(element, (*path, key))


def _is_list_of_tables(value: Any) -> bool:
    """Large ones; small ones such as units of a device stay on a line each."""
    if not isinstance(value, list) or not value or not all(isinstance(element, dict) for element in value):
        return False
    return any(len(toml_value(element)) > _WIDTH or "\n" in toml_value(element) for element in value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else json.dumps(key)


def toml_value(value: Any, width: float = _WIDTH) -> str:
    """A value as a file has it; on one line, as `--set` takes it, where the width is infinite."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        plain = "\n" in value and "\\" not in value and '"""' not in value and value.replace("\n", "").isprintable()
        plain = plain and not value.endswith('"') and math.isfinite(width)
        return f'"""\n{value.lstrip(chr(10))}"""' if plain else json.dumps(value)
    if isinstance(value, dict):
        entries = ", ".join(f"{_key(k)} = {toml_value(v, width)}" for k, v in value.items())
        return f"{{ {entries} }}" if value else "{}"
    elements = [toml_value(element, width) for element in value]
    line = f"[{', '.join(elements)}]"
    return line if len(line) <= width else "[\n    " + ",\n    ".join(elements) + ",\n]"


def with_numbers(text: str, numbers: Mapping[str, float], file: Path) -> str:
    """The text with these numbers at their dotted keys; comments, order and layout stay as a person wrote them.

    Each place that could be meant is tried, and the one is taken with which the file reads as it should.

    Raises
    ------
    InputError
        Where the file is not TOML, or does not give one of the keys a number.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"'{file}' is not TOML ({error})", expected="a testbed") from None
    for key, number in numbers.items():
        path = key.split(".")
        now = value_at(content, path)
        if isinstance(now, bool) or not isinstance(now, int | float):
            raise InputError(f"'{file}' gives no number", key=key, expected="one, which is replaced")
        expected = deepcopy(content)
        assign(expected, path, number)
        text = _replaced(text, path[-1], number, expected, file)
        content = expected
    return text


def _replaced(text: str, name: str, number: float, expected: dict[str, Any], file: Path) -> str:
    for match in re.finditer(rf"(?<![\w-]){re.escape(name)}\s*=\s*({_NUMBER})", text):
        rest = _SAID_OF_IT.sub(r"\1", text[match.end(1) :], count=1)
        tried = text[: match.start(1)] + toml_value(number) + rest
        try:
            if tomllib.loads(tried) == expected:
                return tried
        except tomllib.TOMLDecodeError:
            pass  # inside a text or a comment
    raise InputError(f"'{file}' can't be edited", key=name, expected="the number written as key = number")
