"""The errors of Granite: one family, with fields; the sentence is made where it is printed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

_LONGEST_SHOWN = 80
#: of a part of a sentence: names and keys come from files, which may be damaged
_LONGEST_PART = 700
_NOT_GIVEN: Any = object()
_MISSING = "is missing"


class GraniteError(Exception):
    """Base of every error that Granite raises on purpose."""


class InputError(GraniteError, ValueError):
    """Bad input: a typed value or a file can't be used.

    `str(error)` is one sentence of all attributes. It is a `ValueError`, so that a validator of the configuration may
    raise it with a key inside its own table.

    Attributes
    ----------
    file : str
        Testbed, log or file as the user named it; empty where that is not known yet.
    key : str
        Dotted key inside the file.
    value : object
        The value found there; `given` says whether there is one.
    problem : str
        The error, without the expectation.
    expected : str
        A description of valid values.
    """

    def __init__(
        self, problem: str = "", *, file: str = "", key: str = "", value: object = _NOT_GIVEN, expected: str = ""
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.file = file
        self.key = key
        self.expected = expected
        self.given = value is not _NOT_GIVEN
        self.value = value if self.given else None

    @classmethod
    def missing(cls, key: str, expected: str) -> InputError:
        """A missing key."""
        return cls(_MISSING, key=key, expected=expected)

    def within(self, key: str = "", file: str = "") -> InputError:
        """The same error with its key below another one, and with the name of the file."""
        keys = ".".join(part for part in (key, self.key) if part)
        value = self.value if self.given else _NOT_GIVEN
        return type(self)(self.problem, file=file or self.file, key=keys, value=value, expected=self.expected)

    def __str__(self) -> str:
        file = _cut(self.file, _LONGEST_PART)
        key = _cut(self.key, _LONGEST_PART)
        problem = _cut(self.problem, _LONGEST_PART)
        expected = _cut(self.expected, _LONGEST_PART)
        head = f"{key} = {shown(self.value)}" if self.given and key else key
        text = problem
        if expected:
            text += f"{', ' if text else ''}expected {expected}"
        if head:
            text = f"{head}{' ' if self.problem == _MISSING else ': '}{text}"
        # One sentence on one line, without line breaks of the input.
        return " ".join((f"{file}: {text}" if file else text).split())


class LogError(InputError):
    """A log can't be written or read; the sentence names it."""


class CompilationError(GraniteError):
    """The compiler rejected generated code; its message is included."""


class PlantLostError(GraniteError):
    """The simulated plant left the range of its model; the message has the cause."""


def one_of(word: str, names: Iterable[str]) -> str:
    """The choices as an expectation, with the one that was probably meant."""
    choices = list(names)
    if not choices:
        return "none, because there is none to choose"
    close = get_close_matches(word, choices, n=1)
    hint = f" (did you mean '{close[0]}'?)" if close else ""
    return f"{'one of ' if len(choices) > 1 else ''}{', '.join(choices)}{hint}"


def shown(value: object) -> str:
    """A value as a user types it, shortened where it is long."""
    if value is None:
        return "none"
    # JSON quotes text and spells true as TOML does, but not inf, nan and dates, which TOML has as Python has.
    quoted = isinstance(value, str | int | list | tuple | dict)
    try:
        text = json.dumps(value, default=str, ensure_ascii=False) if quoted else str(value)
    except ValueError:  # a whole number of thousands of digits, which Python does not write out
        text = "a number of thousands of digits"
    return _cut(text, _LONGEST_SHOWN)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."
