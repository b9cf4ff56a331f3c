"""What goes wrong outside the tick is handed to the supervisor once, and gets its declared response."""

import os
import signal
import threading
import time
from collections import deque
from pathlib import Path

import pytest

import granite
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.run_modes import Request, RequestKind
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording import run_watch
from granite.rt.recording.recorder import Recorder
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.recording.run_watch import RunWatch, disk_is_full
from granite.rt.run import Run
from tests.support.unhurried import UNHURRIED
from tests.support.waiting import until


@pytest.fixture
def quick_looks(monkeypatch):
    """The watch looks every 50 ms."""
    monkeypatch.setattr(run_watch, "PERIOD_S", 0.05)


@pytest.mark.usefixtures("quick_looks")
def test_a_fault_is_reported_and_said_once():
    inbox: deque[Request] = deque()
    said: list[str] = []
    faults = {Reason.RECORDER_LOST: lambda: True, Reason.DISK_FULL: lambda: False}
    with RunWatch(inbox, faults, say=said.append):
        until(lambda: inbox)
        time.sleep(0.15)
    assert list(inbox) == [Request(RequestKind.REPORT, argument=Reason.RECORDER_LOST)]
    assert said == [Reason.RECORDER_LOST.text]


@pytest.mark.usefixtures("quick_looks")
def test_a_fault_that_went_away_is_reported_when_it_comes_again():
    inbox: deque[Request] = deque()
    there = iter([False, True, True, False])
    with RunWatch(inbox, {Reason.OPERATOR_LOST: lambda: next(there, True)}):
        until(lambda: len(inbox) == 2)
        time.sleep(0.15)
    assert list(inbox) == [Request(RequestKind.REPORT, argument=Reason.OPERATOR_LOST)] * 2


def test_a_disk_with_too_little_space_is_full(tmp_path):
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize / 1e6
    assert not disk_is_full(tmp_path / "run.mcap", 0.5 * free)
    assert disk_is_full(tmp_path / "run.mcap", 2 * free)
    assert not disk_is_full(Path("/nowhere/at/all/run.mcap"), 1e9)


class LateClock(VirtualClock):
    """Every tick takes one and a half periods."""

    def now(self) -> float:
        return self._now + 0.0075


@pytest.mark.parametrize(("response", "ends"), [("warn", Reason.PASSED), ("hold", Reason.OVERRUN_BURST)])
def test_a_burst_of_overruns_gets_its_response(response, ends):
    run = Run(load("free-flyer", ["loop.duration_s=1", f"safety.responses.overrun_burst={response}"]))
    memory = Memory(run.channels, run.ticks)
    outcome = run.execute(LateClock(), memory)
    assert outcome.reason is ends
    asked = memory.rows[:, run.channels.column("/operation", "request")]
    assert 1 <= (asked == RequestKind.REPORT).sum() <= 5  # a hundred overruns, twenty to a burst


@pytest.mark.slow
def test_a_run_whose_recorder_was_killed_stops_where_that_is_declared(tmp_path, monkeypatch):
    started = []
    start = Recorder.start.__func__

    def noted(cls, *arguments, **options):
        started.append(start(cls, *arguments, **options))
        return started[-1]

    monkeypatch.setattr(Recorder, "start", classmethod(noted))
    changes = ["loop.duration_s=60", "safety.responses.recorder_lost=stop", *UNHURRIED]
    run = Run(load("free-flyer", changes))
    killer = threading.Timer(4.0, lambda: os.kill(started[0].pid, signal.SIGKILL))
    killer.start()
    summary = run.record(tmp_path / "run.mcap", realtime=True)
    killer.join()
    assert summary["ended"] == "recorder_lost"
    assert summary["ended_at_s"] < 55
    assert "killed" in summary["log_failure"]


@pytest.mark.slow
def test_a_full_disk_is_named_in_the_log(tmp_path):
    changes = ["loop.duration_s=2", "recording.least_free_mb=1e9", "safety.responses.disk_full=hold", *UNHURRIED]
    log = granite.simulate(load("free-flyer", changes), tmp_path / "run.mcap", realtime=True)
    assert log.summary["ended"] == "disk_full"
    assert [event["name"] for event in log.events if event["level"] != "info"][:1] == ["holding"]
