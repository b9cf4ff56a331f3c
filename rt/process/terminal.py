"""Standard error as a terminal that may be closed, or stopped by Ctrl-S: what it does not take at once is dropped."""

from __future__ import annotations

import contextlib
import io
import os
import select


class Terminal(io.TextIOWrapper):
    """Writes to standard error at once, or not at all: neither a run nor its log waits for a terminal.

    Parameters
    ----------
    descriptor
        Standard error, or a stream in its place.
    """

    def __init__(self, descriptor: int = 2) -> None:
        file = os.fdopen(_opened(descriptor), "wb", buffering=0)
        super().__init__(file, encoding="utf-8", errors="replace", write_through=True)

    def write(self, text: str) -> int:
        """Write, if there is someone to read."""
        with contextlib.suppress(OSError):
            if select.select([], [self], [], 0.0)[1]:  # else a terminal that could not be opened anew would block
                super().write(text)
        return len(text)

    def flush(self) -> None:
        """Everything is written at once."""
        with contextlib.suppress(OSError):
            super().flush()


def _opened(descriptor: int) -> int:
    """A descriptor of the same stream, if possible one whose writes never block.

    A terminal is opened anew: a flag of a copy would hold for every process that has the terminal, the shell too.
    """
    if os.isatty(descriptor):
        with contextlib.suppress(OSError):  # that of another user
            return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    return os.dup(descriptor)
