"""The Python of every page runs: all blocks of a page one after the other, in a folder of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import NAMES, ROOT, Text, python_blocks
from tests.support.quick_cases import quick

#: reads the code from stdin, so that no module is imported twice where a run starts a process
RUN = "import sys; exec(compile(sys.stdin.read(), sys.argv[1], 'exec'), {'__name__': '__main__'})"
#: the log that `make demo` leaves, and enough of it
DEMO = "runs/demo.mcap"
PAGES = [name for name in NAMES if python_blocks(ROOT / name)]
RECORD = ["-m", "granite.cli", "sim", "free-flyer", "--duration", "1", "--out", DEMO]


def at_their_lines(blocks: list[Text]) -> str:
    """The blocks as one programme in which every line has the number that it has on its page."""
    lines: list[str] = []
    for first, content in blocks:
        lines += [""] * (first - 1 - len(lines)) + content.splitlines()
    return "\n".join(lines)


def run(arguments: list[str], folder: Path, code: str = "") -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, input=code, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of the demo."""
    folder = tmp_path_factory.mktemp("demo")
    (folder / DEMO).parent.mkdir()
    run(RECORD, folder)
    return folder / DEMO


@pytest.mark.parametrize("name", PAGES)
def test_the_python_of_a_page_is_python(name: str):
    compile(at_their_lines(python_blocks(ROOT / name)), name, "exec")


#: the tutorial's blocks are files of a script, one of them serves until it is killed: `test_tutorial.py`
RUNNING = [name for name in PAGES if name != "docs/tutorial.md"]


@pytest.mark.parametrize("name", quick(RUNNING, "docs/logs.md"))
def test_the_python_of_a_page_runs(name: str, tmp_path: Path, demo: Path):
    code = at_their_lines(python_blocks(ROOT / name))
    if DEMO in code:
        (tmp_path / DEMO).parent.mkdir()
        shutil.copy(demo, tmp_path / DEMO)
    run(["-c", RUN, str(ROOT / name)], tmp_path, code)
