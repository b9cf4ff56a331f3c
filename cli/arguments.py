"""Arguments that several commands share."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from granite.cli.completion import complete_bed, complete_key, complete_log
from granite.cli.lines import say
from granite.config.errors import InputError, LogError
from granite.config.parts import named_files, running_only
from granite.config.testbed import Testbed
from granite.rt.preparation_failures import refused_where_it_fails

P = ParamSpec("P")

Bed = Annotated[
    str,
    typer.Argument(metavar="BED", help="a preset, preset/variant, or a .toml file", autocompletion=complete_bed),
]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask before the devices are armed")]
LogFile = Annotated[
    Path, typer.Argument(metavar="LOG", help="a log that Granite recorded", autocompletion=complete_log)
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="change one key, e.g. simulation.table.tilt_g=0; may be given several times",
        autocompletion=complete_key,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for scripts")]
#: in the text of an option: the name of a device
DEVICE = "DEVICE"
Trust = Annotated[bool, typer.Option("--trust", help="run also code that changed since, or of which it has no SHA-256")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="replace the file if it exists")]


def say_own_files(bed: Testbed) -> None:
    """Name the files with a user's own parts that a log or a session is about to run."""
    for file in named_files(bed):
        say(f"granite: runs the code of {file}", sys.stderr)


def reading(command: Callable[P, None]) -> Callable[P, None]:
    """A command that runs no code of a user's own, whatever it reads names."""

    @functools.wraps(command)
    def run(*arguments: P.args, **options: P.kwargs) -> None:
        with running_only({}):
            command(*arguments, **options)

    return run


@contextlib.contextmanager
def named(bed: str, testbed: Testbed) -> Iterator[None]:
    """Errors from building the run are one sentence each, and start with the name that the user typed."""
    try:
        with refused_where_it_fails(bed):
            yield
    except InputError as error:
        if not isinstance(error, LogError) and error.file in ("", testbed.name):
            raise error.within(file=bed) from None
        raise


def listed_names(typed: str) -> list[str]:
    """Names that were typed with commas between them."""
    return [name.strip() for name in typed.split(",") if name.strip()]


@contextlib.contextmanager
def simulated_by(option: str) -> Iterator[None]:
    """A device without a driver is refused with the option that simulates it, where `DEVICE` is its name."""
    from granite.rt.devices import MissingDriverError

    try:
        yield
    except MissingDriverError as refusal:
        expected = f"the driver of the real device, or {option.replace(DEVICE, refusal.device)}"
        raise InputError.missing(refusal.key, expected) from None
