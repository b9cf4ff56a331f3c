"""What a person sees while the model is written and compiled, which can take longer than the run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from granite.mrds import compilation


@contextmanager
def preparing(progress: bool) -> Iterator[None]:
    """A line that says what is being compiled, gone when all is ready; nothing if it is not wanted."""
    if not progress:
        yield
        return
    with Console(stderr=True).status("preparing the model") as status:
        found: list[str] = []

        def tell(name: str) -> None:
            found.append(name)
            status.update(f"compiling {name}, the {len(found)}. of what is not in the cache yet")

        with compilation.on_compile(tell):
            yield
