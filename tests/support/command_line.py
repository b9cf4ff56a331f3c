"""The command as a person calls it: in an empty directory, and what it says."""

import functools
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from granite.cli import main
from granite.cli.endings import BAD_INPUT


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What was printed, which must be JSON and nothing else, without NaN."""

        def refuse(constant: str) -> None:
            raise ValueError(f"{constant} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


Call = Callable[..., Said]
#: Typer's tree of all commands, made from their signatures once and not at each call, which takes longer than most
command_tree = functools.cache(typer.main.get_command)


@pytest.fixture
def granite(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Call the command in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(typer.main, "get_command", command_tree)

    def call(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["granite", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        return Said(int(end.value.code or 0), captured.out, captured.err)

    return call


def sentence_of(said: Said, code: int = BAD_INPUT) -> str:
    """The one sentence with which a command was refused."""
    assert said.code == code, said
    assert re.fullmatch(r"granite: [^\n]*[^\n.]\n", said.err), said.err
    assert "Traceback" not in said.err
    assert said.err.isascii()
    return said.err


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
