"""Standard error as a terminal that may be closed: output that can't be written is dropped."""

from __future__ import annotations

import contextlib
import io
import os


class Terminal(io.TextIOWrapper):
    """Writes to standard error at once; a failed write is ignored."""

    def __init__(self) -> None:
        super().__init__(
            os.fdopen(os.dup(2), "wb", buffering=0), encoding="utf-8", errors="replace", write_through=True
        )

    def write(self, text: str) -> int:
        """Write, if there is someone to read."""
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        """Everything is written at once."""
        with contextlib.suppress(OSError):
            super().flush()
