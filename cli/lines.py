"""Lines of text for a person or a script, without the import of rich, which a stop should not wait for."""

from __future__ import annotations

import errno
import json
import os
import shlex
import sys
from typing import Any, TextIO

#: characters that move the cursor, such as those of a file's name
_CONTROL = dict.fromkeys((7, 8, 11, 12, 13))


def say(text: str, to: TextIO | None = None) -> None:
    """Print a line on standard output, or on another stream, if there is someone to read."""
    stream = to or sys.stdout
    if stream is None:  # closed before the start
        return
    try:
        print(text.translate(_CONTROL), file=stream, flush=True)
    except OSError as error:
        if not is_gone(error):
            raise
        discard(stream)


def print_json(value: Any) -> None:
    """Print JSON for scripts; nothing else is printed then."""
    say(json.dumps(value, indent=2, allow_nan=False))


def is_gone(error: OSError) -> bool:
    """Whether the reader left: a closed pipe, as in `granite list | head -1`, or terminal; no full device."""
    return error.errno in (errno.EPIPE, errno.EIO)


def discard(stream: Any) -> None:
    """Discard the rest, also the interpreter's flush at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def command(*words: object) -> str:
    """A command of Granite as a shell takes it: names with spaces and other special characters are quoted."""
    return shlex.join(["granite", *map(str, words)])


def with_changes(overrides: list[str] | None) -> list[str]:
    """The options of changes that were typed."""
    return [word for override in overrides or () for word in ("--set", override)]
