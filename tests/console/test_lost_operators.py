"""A page that is closed, a browser that sleeps and a console that was killed are lost operators: the run holds."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import granite as api
from granite.config.errors import InputError
from granite.rt.operator.client import Operator
from tests.support.console_pages import SILENCE_S, chromium, until, wait_in_run, waiting_run

pytestmark = pytest.mark.slow


@pytest.fixture
def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A console as a process of its own, and its address."""
    monkeypatch.setenv("GRANITE_KEYS", str(tmp_path / "keys"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    command = [sys.executable, "-m", "granite.cli", "console", "--port", "0", "--folder", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().partition("console: ")[2].strip()
        process.kill()


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(descendant for child in children for descendant in descendants(int(child)))]


def mode_of(operator: Operator) -> str:
    """The mode of the run; none where a busy machine answers late."""
    try:
        return str(operator.ask("status")["mode"])
    except InputError:
        return ""


@pytest.mark.parametrize("loss", ["closed", "asleep", "killed"])
def test_a_run_holds_when_its_page_is_gone(console: Any, tmp_path: Path, loss: str):
    process, address = console
    with waiting_run(tmp_path / "run.mcap") as (running, _), Operator(running.bed.operator.address) as other:
        before = set(descendants(os.getpid()))
        with chromium() as browser:
            page = browser.new_page()
            page.goto(address)
            until(lambda: page.is_enabled("#control"))
            page.click("#control")
            for do, wanted in (("arm", "armed"), ("start", "running")):
                until(lambda do=do: page.is_enabled(f"[data-do={do}]"))
                until(lambda do=do, wanted=wanted: _asked(page, do) and mode_of(other) == wanted)
            slept = [pid for pid in descendants(os.getpid()) if pid not in before and _is_browser(pid)]
            # A page that is there keeps the run going; how soon it holds is measured by benchmarks console_stops.
            wait_in_run(page, 1.5 * SILENCE_S)
            assert mode_of(other) == "running"
            if loss == "closed":
                page.close()
            elif loss == "asleep":
                for pid in slept:
                    os.kill(pid, signal.SIGSTOP)
            else:
                process.kill()
            try:
                # Another client with another key polls meanwhile: it hides nothing.
                until(lambda: mode_of(other) == "holding")
                assert other.ask("status")["cause"] == "operator_lost"
                if loss == "killed":
                    until(lambda: page.inner_text("#mode").lower() == "lost")
                    assert page.is_disabled("[data-do=hold]")
            finally:
                for pid in slept if loss == "asleep" else ():
                    os.kill(pid, signal.SIGCONT)
            if loss == "asleep":
                until(lambda: page.inner_text("#mode").lower() == "holding")
        other.ask("emergency_stop")
        running.join(30)
    assert api.replay(api.read_log(tmp_path / "run.mcap")).first is None


def _asked(page: Any, do: str) -> bool:
    if page.is_enabled(f"[data-do={do}]"):
        page.click(f"[data-do={do}]")
    time.sleep(0.3)
    return True


def _is_browser(pid: int) -> bool:
    return b"chrom" in Path(f"/proc/{pid}/cmdline").read_bytes()
