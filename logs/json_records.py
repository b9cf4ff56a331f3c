"""The JSON of a log, checked before anything uses it: events, the summary, lists in the metadata."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NotRequired

from pydantic import TypeAdapter, ValidationError

from granite.config.errors import InputError, shown
from granite.logs.run_summary import Metrics, RunSummary

#: longest event and longest summary [bytes]
_LONGEST_EVENT, _LONGEST_SUMMARY = 64 * 2**10, 16 * 2**20
#: entries of an event that are text
_TEXTS = ("level", "name", "text")


class _Summary(Metrics):
    """The part of a summary that is used after reading."""

    ended: NotRequired[str]
    text: NotRequired[str]
    fault: NotRequired[str]
    fault_in: NotRequired[str]
    traceback: NotRequired[str]


_SUMMARY = TypeAdapter(_Summary)


def read_event(message: bytes, number: int) -> dict[str, Any]:
    """An event of `/events`; `InputError` with its number where it is none."""
    event = _read(message, f"event {number}", _LONGEST_EVENT)
    if not isinstance(event, dict) or not all(isinstance(event.get(key), str) for key in _TEXTS):
        raise InputError(shown(event), key=f"event {number}", expected="t_s, tick, level, name and text")
    if not _is_finite(event.get("t_s")) or not _is_finite(event.get("tick")):
        raise InputError(shown(event), key=f"event {number}", expected="numbers in t_s and tick")
    return event


def read_summary(message: bytes) -> RunSummary:
    """The summary on `/summary`; `InputError` where it is none."""
    summary = _read(message, "summary", _LONGEST_SUMMARY)
    try:
        _SUMMARY.validate_python(_without_null(summary), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(["summary", *map(str, first["loc"])])
        raise InputError(first["msg"][:1].lower() + first["msg"][1:], key=key, expected="that of a run") from None
    checked: RunSummary = summary
    return checked


def read_info(info: Mapping[str, str]) -> None:
    """Check the metadata; `InputError` where an entry is not in the form of the recorder."""
    for key in ("changes", "operators"):
        listed = _read(info.get(key, "[]").encode(), key, _LONGEST_EVENT)
        if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
            raise InputError(shown(listed), key=key, expected="a list of texts")
    sources = _read(info.get("sources", "{}").encode(), "sources", _LONGEST_EVENT)
    if not isinstance(sources, dict) or not all(isinstance(value, str) for value in sources.values()):
        raise InputError(shown(sources), key="sources", expected="a table of texts")
    start = info.get("start_ns", "0")
    if not start.isascii() or not start.isdigit() or int(start[:20]) >= 2**63:
        raise InputError("not a time", key="start_ns", value=start, expected="nanoseconds since 1970")


def finite(value: Any) -> Any:
    """The value with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read(text: bytes, what: str, longest: int) -> Any:
    if len(text) > longest:
        raise InputError(f"{len(text)} bytes", key=what, expected=f"at most {longest}")
    try:
        return json.loads(text, parse_float=_finite, parse_int=_finite_int, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise InputError(f"damaged ({error})", key=what, expected="JSON") from None


def _without_null(value: Any) -> Any:
    """The value with 0.0 for null, which stands for a number that is not finite."""
    if isinstance(value, dict):
        return {key: _without_null(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_without_null(each) for each in value]
    return 0.0 if value is None else value


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:20]} is not finite")
    return value


def _finite_int(text: str) -> int:
    _finite(text)
    return int(text)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
