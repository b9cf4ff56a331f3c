"""Status line while the model is written and compiled, which can take longer than the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from granite.kernels.library import on_compile


@contextmanager
def preparing(progress: bool) -> Iterator[None]:
    """Show the function that is being compiled, until all are ready; nothing without `progress`."""
    if not progress:
        yield
        return
    with Console(stderr=True).status("preparing the model") as status:
        compiled: list[str] = []

        def show(name: str) -> None:
            compiled.append(name)
            status.update(f"compiling {name} (number {len(compiled)} not in the cache)")

        with on_compile(show):
            yield
