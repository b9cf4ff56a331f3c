"""Numbers of a TOML file replaced in its text: comments, order and layout stay as a person wrote them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from granite.config.errors import InputError
from granite.config.overrides import assign
from granite.tuning.parameters import value_at
from granite.tuning.toml_text import toml_value

#: what `granite new` says of its own gains, up to the end of the line: false of others
_SAID_OF_IT = re.compile(r"\A([^\r\n#]*?)[ \t]*# [0-9.]+ rad/s, critically damped(?=\r?$)", re.MULTILINE)
_NUMBER = r"[-+]?[0-9][0-9_.eE+-]*"


def with_numbers(text: str, numbers: Mapping[str, float], file: Path) -> str:
    """The text with these numbers at their dotted keys.

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
