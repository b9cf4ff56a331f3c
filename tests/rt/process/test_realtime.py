"""Requests of the loop to the operating system are made, reported, and given back."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from granite.config.loop import LoopTable
from granite.rt.process import other_cores, realtime
from granite.rt.process.other_cores import OtherCores, away_from, core_of, siblings_of, threads_of
from granite.rt.process.realtime import real_time
from granite.rt.recording.recorder_process import _lower_priority


def loop(cpu: int | None) -> LoopTable:
    """One that asks for nothing but a processor."""
    nothing = {"priority": 0, "lock_memory": False, "hold_cpu_awake": False, "freeze_garbage": False}
    return LoopTable(period_s=0.005, duration_s=1.0, cpu=cpu, **nothing)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """The processors that this thread asked to run on, one wish after the other. They are granted."""
    wishes, grant = [], os.sched_setaffinity

    def ask(process: int, processors: set[int]) -> None:
        assert process == 0
        grant(process, processors)
        wishes.append(set(processors))

    monkeypatch.setattr(os, "sched_setaffinity", ask)
    return wishes


def test_the_loop_runs_on_its_processor_and_leaves_it_afterwards(asked: list[set[int]]) -> None:
    before = os.sched_getaffinity(0)
    last = max(before)
    with real_time(loop(last)) as report:
        assert report["cpu"] == "in force"
        assert os.sched_getaffinity(0) == {last}
    assert os.sched_getaffinity(0) == before
    assert asked == [{last}, before]


def test_a_processor_that_does_not_exist_is_reported_and_changes_nothing(asked: list[set[int]]) -> None:
    before = os.sched_getaffinity(0)
    with real_time(loop(1023)) as report:
        assert report["cpu"].startswith("refused: ")
        assert os.sched_getaffinity(0) == before
    assert not asked


@pytest.mark.parametrize(("cpu", "enabled"), [(None, True), (0, False)], ids=["not wanted", "virtual time"])
def test_without_a_wish_the_loop_runs_anywhere(asked: list[set[int]], cpu: int | None, enabled: bool) -> None:
    with real_time(loop(cpu), enabled) as report:
        assert report.get("cpu", "not wanted") == "not wanted"
    assert not asked


class Cycle:
    """Garbage that only the collector finds."""

    def __init__(self, collected: list[str]) -> None:
        self.found, self.itself = collected, self

    def __del__(self) -> None:
        self.found.append("found")


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """That of Python, which the other tests do without."""
    monkeypatch.setattr(realtime, "gc", gc)
    yield
    gc.freeze()


@pytest.mark.usefixtures("collector")
def test_garbage_is_collected_before_the_loop_and_not_while_it_runs() -> None:
    collected: list[str] = []
    Cycle(collected)
    with real_time(LoopTable(period_s=0.005, duration_s=1.0), enabled=False) as report:
        assert collected == ["found"]
        assert report["freeze_garbage"] == "in force"
        assert gc.get_freeze_count() > 1000
        assert not gc.isenabled()
    assert gc.get_freeze_count() == 0
    assert gc.isenabled()


LOCKING = """
from pathlib import Path
from granite.config.loop import LoopTable
from granite.rt.process.realtime import real_time

def locked():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmLck")).split()[1])

with real_time(LoopTable(period_s=0.005, duration_s=1.0, priority=0, hold_cpu_awake=False)) as report:
    within = locked()
print(report["lock_memory"], within > 1000, locked())
"""


def test_memory_is_locked_while_the_loop_runs_or_the_refusal_is_reported() -> None:
    said = subprocess.run([sys.executable, "-c", LOCKING], capture_output=True, text=True, check=True).stdout
    assert said == "in force True 0\n" or said.startswith("refused: ")


@pytest.mark.parametrize(("cpu", "left"), [(1, [{0, 2, 3}]), (None, [])])
def test_the_recorder_stays_off_the_loops_processor(
    cpu: int | None, left: list[set[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[int]] = []
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(other_cores, "siblings_of", lambda core: {core})
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, processors: asked.append(processors))
    monkeypatch.setattr(os, "sched_setscheduler", lambda *_: None)
    monkeypatch.setattr(os, "nice", lambda _: None)
    _lower_priority(cpu)
    assert asked == left


@pytest.fixture
def cores(monkeypatch):
    monkeypatch.setattr(other_cores, "siblings_of", lambda core: {core})
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("one core")
    yield OtherCores()
    for thread in threads_of(os.getpid()):
        os.sched_setaffinity(thread, before)


def test_threads_leave_the_core_of_a_loop_and_come_back(cores, monkeypatch):
    usual, own = os.sched_getaffinity(0), threads_of(os.getpid())
    core = core_of(os.getpid())
    assert core in usual
    monkeypatch.setattr(other_cores, "core_of", lambda process: {7: core, 8: None}[process])
    cores.leave([7, 8], own)
    assert {frozenset(os.sched_getaffinity(thread)) for thread in own} == {frozenset(usual - {core})}
    with cores.all_of_them():
        child = subprocess.run(
            [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"], capture_output=True, text=True
        )
    assert child.stdout.strip() == str(sorted(usual))
    assert os.sched_getaffinity(0) == usual - {core}
    cores.leave([], own)
    assert os.sched_getaffinity(0) == usual


@pytest.mark.parametrize(
    ("usable", "left"), [({0, 1, 2, 3, 4, 5}, {0, 2, 3, 5}), ({1, 4}, {4}), ({1}, {1}), ({0, 4}, {0})]
)
def test_a_core_that_shares_its_units_with_that_of_a_loop_is_left_to_it_too(usable, left, monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda path: {"cpu1": "1,4\n"}[path.parts[5]])
    assert away_from({1}, usable) == left
    monkeypatch.setattr(Path, "read_text", lambda path: "0-2,8\n")
    assert siblings_of(1) == {0, 1, 2, 8}


def test_where_loops_have_all_cores_every_core_is_used(cores, monkeypatch):
    usual = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(other_cores, "core_of", lambda process: usual[process])
    cores.leave(range(len(usual)), threads_of(os.getpid()))
    assert sorted(os.sched_getaffinity(0)) == usual


def test_a_process_that_has_ended_is_on_no_core():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert core_of(process.pid) is None
    assert threads_of(process.pid) == []
