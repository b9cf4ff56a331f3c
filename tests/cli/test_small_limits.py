"""A full device, small limits of the system or a removed working directory end in one sentence, never a traceback."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from granite.cli.endings import BAD_INPUT, FAULT, STOPPED

GRANITE = f"{sys.executable} -m granite.cli"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = ["bash", "-c", command.replace("granite", GRANITE, 1)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "GRANITE_NO_COMPILER": "1"}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)


def sentence_of(said: subprocess.CompletedProcess[str], code: int) -> str:
    assert said.returncode == code, said
    assert re.fullmatch(r"granite: [^\n]+\n", said.stderr), said.stderr
    return said.stderr


def test_a_full_device_behind_the_output_is_named(tmp_path: Path) -> None:
    said = sentence_of(shell("granite list > /dev/full", tmp_path), FAULT)
    assert "the system refused it, No space left on device (free some space)" in said


def test_a_full_device_behind_the_errors_keeps_the_exit_code(tmp_path: Path) -> None:
    assert shell("granite show nothing 2> /dev/full", tmp_path).returncode == BAD_INPUT


LIMITS = {
    "open files": ("ulimit -n 6", "the system refused it, Too many open files (raise the limit by ulimit -n)"),
    "file size": ("ulimit -f 100", "the system refused it, File too large (raise the limit by ulimit -f)"),
}


@pytest.mark.parametrize(
    ("limit", "words"),
    [pytest.param(*LIMITS[of], marks=pytest.mark.slow if of == "file size" else (), id=of) for of in LIMITS],
)
def test_a_small_limit_is_named_with_its_remedy(limit: str, words: str, tmp_path: Path) -> None:
    said = shell(f"{limit}; exec granite sim free-flyer --duration 0.1", tmp_path)
    assert f"free-flyer: {words}" in sentence_of(said, BAD_INPUT)
    assert list(tmp_path.iterdir()) == []


def test_a_limit_of_memory_that_is_too_small_is_named_before_anything_waits_for_memory(tmp_path: Path) -> None:
    said = shell("ulimit -v 300000; exec granite show free-flyer", tmp_path)
    assert "307 MB of memory are allowed, expected at least 600 (ulimit -v)" in sentence_of(said, BAD_INPUT)


def test_a_pipe_in_place_of_a_testbed_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bed.toml")
    said = shell("granite show bed.toml", tmp_path)
    assert "bed.toml: not a file but a pipe" in sentence_of(said, BAD_INPUT)


@pytest.mark.slow
def test_a_run_in_a_directory_that_was_removed_needs_a_file_elsewhere(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    said = shell("rmdir ../gone; exec granite sim free-flyer --duration 0.1", gone)
    assert "log 'runs' can't be written: No such file or directory" in sentence_of(said, BAD_INPUT)
    gone.mkdir()
    log = tmp_path / "run.mcap"
    said = shell(f"rmdir ../gone; exec granite sim free-flyer --duration 0.1 --out {log}", gone)
    assert (said.returncode, said.stderr) == (0, "")
    assert log.exists()


INTERRUPTED = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "typer":
            os.kill(os.getpid(), getattr(signal, sys.argv[2]))
sys.meta_path.insert(0, Interrupt())
sys.argv = ["granite", "list", sys.argv[1]]
from granite.cli import main
main()
"""


@pytest.mark.parametrize("name", ["SIGINT", pytest.param("SIGQUIT", marks=pytest.mark.slow)])
def test_an_interrupt_while_the_commands_are_imported_is_no_traceback(name: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, name]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (STOPPED, "")
    assert said.stderr == "granite: stopped by the operator\n"
