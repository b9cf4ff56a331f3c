"""What the commands of many runs have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from granite.cli.screen import err
from granite.config.errors import InputError
from granite.config.testbed import Testbed


def say_parts_in_python(bed: Testbed) -> None:
    """Say which parts keep the runs from being compiled, if any do: they take some ten times as long."""
    from granite.rt.compiled_run import parts_in_python
    from granite.rt.run import Run

    if parts := parts_in_python(Run(bed)):
        err.print(f"runs are not compiled as a whole, because of: {', '.join(parts)} (docs/tuning.md)", soft_wrap=True)


@contextmanager
def table_in(file: Path | None) -> Iterator[None]:
    """What does not fit a key of the `[tuning]` table is in its file, where it has one."""
    try:
        yield
    except InputError as error:
        if file is not None and error.key.startswith("tuning."):
            raise error.within(file=str(file)) from None
        raise
