"""Output of the command line: results, and errors."""

from __future__ import annotations

import errno
import json
import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console


class Screen(Console):
    """Prints text as it is, and ignores a closed pipe, as in `granite list | head -1`, and a closed terminal."""

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def print(self, *texts: Any, **how: Any) -> None:
        """Print, if there is someone to read."""
        try:
            super().print(*texts, **how)
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO):  # a full device is no reader that left
                raise
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """The reader has had enough."""
        self.discard()

    def discard(self) -> None:
        """Discard the rest, also the interpreter's flush at exit."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


out, err = Screen(), Screen(stderr=True)


def working(sentence: str) -> AbstractContextManager[object]:
    """Say on a terminal what takes long, until it is done."""
    return err.status(sentence) if err.is_terminal else nullcontext()


def print_json(value: Any) -> None:
    """Print JSON for scripts; nothing else is printed then."""
    out.print(json.dumps(value, indent=2, allow_nan=False), soft_wrap=True)
