"""Threads beside a loop leave its core, and a process that they start does not inherit that."""

import os
import subprocess
import sys

import pytest

from granite.rt.process import other_cores
from granite.rt.process.other_cores import OtherCores, core_of, threads_of


@pytest.fixture
def cores():
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
