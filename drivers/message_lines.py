"""Messages between two processes: each is a line of JSON in a pipe."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import IO, Any


def send(pipe: IO[str], message: Mapping[str, Any]) -> None:
    """Send a message to a process, which may have ended."""
    with contextlib.suppress(BrokenPipeError):
        pipe.write(json.dumps(message) + "\n")
        pipe.flush()


def receive(pipe: IO[str]) -> dict[str, Any]:
    """The next message; an empty one where the other process has ended or closed its pipe."""
    message: dict[str, Any] = json.loads(pipe.readline() or "{}")
    return message
