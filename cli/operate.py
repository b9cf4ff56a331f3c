"""`granite operate` as a command of Typer, for its help and its refusals; `granite.cli.operator_commands` does it."""

from __future__ import annotations

from typing import Annotated

import typer

from granite.cli.arguments import AsJson
from granite.cli.operator_commands import KEY, OPERATOR_COMMANDS, talk
from granite.config.operator_address import ADDRESS


def operate(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND]", help=f"{', '.join(OPERATOR_COMMANDS)}; none: a prompt"),
    ] = None,
    address: Annotated[str, typer.Option(metavar="ADDRESS", help="where the loop listens")] = ADDRESS,
    key: Annotated[str, typer.Option(metavar="NAME", help="whose key to use")] = KEY,
    duration: Annotated[float | None, typer.Option(metavar="S", help="of go: how long it takes")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="of go: by a planned path, around zones")] = False,
    as_json: AsJson = False,
) -> None:
    """Talk to a run that was started with --operator.

    A prompt watches: when it is gone without `quit`, the run has lost its operator and holds.
    """
    words = [
        *(command or []),
        *([] if duration is None else ["--duration", str(duration)]),
        *(["--plan"] if plan else []),
    ]
    talk(words, address, key, as_json)
