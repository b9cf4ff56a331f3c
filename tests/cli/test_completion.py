"""Shell completion, as bash asks for it: commands, testbeds, keys of `--set`, logs."""

from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from granite.config.loader import load
from tests.support.command_line import Call, command_tree, granite

__all__ = ["granite"]

Complete = Callable[[str], list[str]]


@pytest.fixture
def complete(granite: Call, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """What a shell offers for the last word of a line."""

    def offered(line: str) -> list[str]:
        monkeypatch.setenv("_GRANITE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        said = granite()
        assert (said.code, said.err) == (0, ""), said
        return said.out.split()

    return offered


def test_commands_and_options_are_completed(complete: Complete):
    assert complete("granite si") == ["sim"]
    assert complete("granite sim free-flyer --dura") == ["--duration"]
    assert complete("granite no-such-command x") == []


@pytest.mark.parametrize("command", ["sim", "show", "tune", "run", "montecarlo"])
def test_testbeds_are_presets_variants_and_files(complete: Complete, command: str):
    Path("fresh.toml").touch()
    Path("fresh.txt").touch()
    offered = complete(f"granite {command} fre")
    assert {"free-flyer", "free-flyer/camera", "fresh.toml"} <= {*offered}
    assert all(name.startswith("fre") for name in offered)
    assert "fresh.txt" not in offered


def test_tune_completes_the_commands_of_sessions_too(complete: Complete):
    assert complete("granite tune sh") == ["show"]


@pytest.mark.parametrize("command", ["sim", "tune", "rehearse"])
def test_keys_are_those_of_the_testbed_and_can_be_set(complete: Complete, command: str):
    offered = complete(f"granite {command} free-flyer --set devices.thrusters.units.r1.")
    assert "devices.thrusters.units.r1.failed=" in offered
    bed = load("free-flyer", [f"{key}true" for key in offered if key.endswith(".failed=")])
    assert bed.devices["thrusters"].units[0].failed
    assert complete(f"granite {command} no-such-bed --set loop.") == []


@pytest.mark.parametrize("command", ["plot", "replay", "info", "compare", "movie", "export"])
def test_logs_are_those_in_runs_or_in_the_typed_folder(complete: Complete, command: str):
    for file in ("runs/demo-001.mcap", "runs/demo.png", "other/mine.mcap"):
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).touch()
    assert complete(f"granite {command} ") == ["runs/demo-001.mcap"]
    assert complete(f"granite {command} other/m") == ["other/mine.mcap"]


def test_the_shell_gets_a_script(granite: Call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SHELL", "/bin/bash")
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    monkeypatch.setattr(typer.main, "get_command", command_tree.__wrapped__)  # it depends on the shell
    said = granite("--show-completion", "bash")
    assert said.code == 0
    assert "_GRANITE_COMPLETE=complete_bash" in said.out
