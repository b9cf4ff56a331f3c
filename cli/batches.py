"""What the commands of many runs have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from granite.cli.screen import err
from granite.config.errors import InputError
from granite.config.testbed import Testbed


def say_parts_in_python(bed: Testbed) -> None:
    """Say which parts have no compiled form: in Python, controllers take several times as long, a lab ten times."""
    from granite.rt.compiled_run import is_compilable, parts_in_python
    from granite.rt.run import Run

    run = Run(bed)
    if parts := parts_in_python(run):
        what = "some parts of a run are" if is_compilable(run) else "runs are"
        err.print(f"{what} not compiled: {', '.join(parts)} (docs/tuning.md)", soft_wrap=True)


@contextmanager
def table_in(file: Path | None) -> Iterator[None]:
    """What does not fit a key of the `[tuning]` table is in its file, where it has one."""
    try:
        yield
    except InputError as error:
        if file is not None and error.key.startswith("tuning."):
            raise error.within(file=str(file)) from None
        raise
