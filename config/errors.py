"""What bad input raises: a sentence a person can act on, and the two phrases such sentences share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST_SHOWN = 80


class InputError(Exception):
    """Something a person typed, or a file they gave, is not usable.

    The message is one sentence naming the file, the key, the value and what was expected; the command line
    prints it and leaves with exit code 2.
    """


class PlantLostError(Exception):
    """The simulated plant has left what its model can describe; the message says how."""


def expected_one_of(word: str, known: Iterable[str]) -> str:
    """`expected one of ...`, with the one that was probably meant."""
    choices = list(known)
    if not choices:
        return "expected none, for there is none to choose"
    close = get_close_matches(word, choices, n=1)
    hint = f" (did you mean '{close[0]}'?)" if close else ""
    return f"expected {'one of ' if len(choices) > 1 else ''}{', '.join(choices)}{hint}"


def shown(value: object) -> str:
    """A value as a person would type it, cut where it gets long."""
    if value is None:
        return "none"
    # JSON quotes text and spells true as TOML does, but not inf, nan and dates, which TOML has as Python has.
    quoted = isinstance(value, str | int | list | tuple | dict)
    text = json.dumps(value, default=str, ensure_ascii=False) if quoted else str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
