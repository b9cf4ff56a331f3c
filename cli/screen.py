"""Output of the command line with tables: results, and errors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich.console import Console

from granite.cli.lines import discard, is_gone
from granite.cli.lines import print_json as print_json


class Screen(Console):
    """Prints text as it is, and ignores a reader that left."""

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def print(self, *texts: Any, **how: Any) -> None:
        """Print, if there is someone to read."""
        try:
            super().print(*texts, **how)
        except OSError as error:
            if not is_gone(error):
                raise
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """The reader has had enough."""
        self.quiet = True
        discard(self.file)


out, err = Screen(), Screen(stderr=True)


def working(sentence: str) -> AbstractContextManager[object]:
    """Say on a terminal what takes long, until it is done."""
    return err.status(sentence) if err.is_terminal else nullcontext()
