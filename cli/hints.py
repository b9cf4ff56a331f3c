"""Commands that the command line recommends."""

from __future__ import annotations

import shlex


def command(*words: object) -> str:
    """A command of Granite as a shell takes it: names with spaces and other special characters are quoted."""
    return shlex.join(["granite", *map(str, words)])


def with_changes(overrides: list[str] | None) -> list[str]:
    """The options of changes that were typed."""
    return [word for override in overrides or () for word in ("--set", override)]
