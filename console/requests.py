"""What requests of a page carry: numbers, texts and lists, each checked."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.requests import Request

from granite.config.errors import InputError


def number(request: Request, key: str) -> float:
    """A finite number of the query."""
    try:
        value = float(request.query_params[key])
    except (KeyError, ValueError):
        raise InputError(key=key, value=request.query_params.get(key), expected="a number") from None
    if not math.isfinite(value):
        raise InputError(key=key, value=value, expected="a finite number")
    return value


class RequestBody:
    """The JSON object that a page sent."""

    def __init__(self, content: Any) -> None:
        if not isinstance(content, dict):
            raise InputError("a request without content", expected="a JSON object")
        self._content = content

    @classmethod
    async def of(cls, request: Request) -> RequestBody:
        """Of a request; `InputError` where it is no JSON object."""
        try:
            return cls(json.loads(await request.body()))
        except (ValueError, RecursionError):
            raise InputError("a damaged request", expected="a JSON object") from None

    def text(self, key: str, default: str | None = None) -> str:
        """A text without control characters."""
        value = self._content.get(key, default)
        if not isinstance(value, str) or any(ord(c) < 32 and c not in "\n\t" for c in value):
            raise InputError(key=key, value=value, expected="a text")
        return value

    def texts(self, key: str, most: int = 64) -> list[str]:
        """A list of texts."""
        values = self._content.get(key, [])
        if not isinstance(values, list) or len(values) > most:
            raise InputError(key=key, expected=f"a list of at most {most}")
        return [RequestBody({key: value}).text(key) for value in values]

    def whole(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number in a range."""
        value = self._content.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise InputError(key=key, value=value, expected=f"{least} to {most}")
        return value

    def flag(self, key: str) -> bool:
        """Yes or no."""
        return self._content.get(key) is True
