"""The commands that pages show exist, with their options, and so do the testbeds and keys that they name."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from granite.cli.app import app
from granite.cli.operate import OPERATOR_COMMANDS
from granite.config.errors import InputError
from granite.config.loader import load
from tests.support.pages import NAMES, ROOT, code_spans, shell_lines

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def in_blocks(page: Path) -> Iterator[tuple[int, str, str | None]]:
    """Line, text and fault of each command in a block."""
    for line, text in shell_lines(page):
        if text.startswith("granite "):
            yield line, text, fault(shlex.split(text, comments=True)[1:])


def in_sentences(page: Path) -> Iterator[tuple[int, str, str | None]]:
    """The same for commands in a sentence, which may speak of `granite sim` alone, or of one that is to come."""
    for line, text in code_spans(page):
        name, *arguments = text.removeprefix("granite ").split() or [""]
        if text.startswith("granite ") and name in COMMANDS:
            problem = fault([name, *arguments])
            yield line, text, None if problem and problem.startswith("Missing argument") else problem


def fault(words: list[str]) -> str | None:
    """What is wrong with a command and its arguments, if anything is. Words in capitals stand for others."""
    name, *arguments = words
    if name.isupper() or {"-h", "--help"} & {*words}:
        return None
    if name not in COMMANDS:
        return f"no command '{name}'"
    try:
        values = COMMANDS[name].make_context(name, arguments).params
    except Exception as error:
        if not hasattr(error, "format_message"):  # Typer's own errors carry the sentence
            raise
        return str(error.format_message())
    changes = next((values[option.name] for option in COMMANDS[name].params if "--set" in option.opts), None) or []
    if name == "operate":  # its argument is a command of the operator
        words = values["command"] or ["status"]
        return None if words[0] in OPERATOR_COMMANDS else f"no command '{words[0]}' of the operator"
    arguments_of = [
        p for p in COMMANDS[name].params if p.param_type_name == "argument" and p.metavar not in ("NAME", "KIND")
    ]
    beds = [v for p in arguments_of for v in several(values[p.name])]
    try:
        for bed in beds:
            if not bed.isupper() and "." not in bed:  # neither BED nor a file
                load(bed, [change for change in changes if change != "KEY=VALUE"])
    except InputError as error:
        return str(error)
    return None


def several(value: Any) -> list[str]:
    """The values of an argument, which may take none, one or many."""
    return [str(v) for v in (value if isinstance(value, list | tuple) else [value]) if v is not None]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_exists(name: str):
    commands = [*in_blocks(ROOT / name), *in_sentences(ROOT / name)]
    assert [f"{name}:{line}: {text}: {wrong}" for line, text, wrong in commands if wrong] == []
