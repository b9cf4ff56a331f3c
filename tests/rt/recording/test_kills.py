"""Whoever is killed, and however: the log can be read up to the promised last moment."""

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import granite
from benchmarks.kills import KILLS, PROMISE_S, Kill, KillOutcome, is_right, kill_many, kill_once
from granite.config.records import Sample
from granite.drivers.device_set import DeviceSet
from granite.logs.unfinished import unfinished_name
from granite.rt import run
from granite.rt.recording.recorder import Recorder
from tests.support.unhurried import UNHURRIED
from tests.support.waiting import until


def check(outcome: KillOutcome) -> None:
    assert outcome.loss_s <= PROMISE_S, outcome
    assert is_right(outcome), outcome
    if outcome.kill.ends != (None,):
        assert outcome.loss_s == 0.0, outcome  # nothing is lost while the recorder lives


@pytest.mark.slow
def test_a_killed_recorder_alone_or_with_the_loop_loses_no_more_than_promised(tmp_path: Path) -> None:
    def one(i: int, kill: Kill, mode: str) -> KillOutcome:
        (tmp_path / str(i)).mkdir()
        return kill_once(kill, mode, 0.9, tmp_path / str(i))

    with ThreadPoolExecutor() as pool:
        for outcome in pool.map(one, range(2), KILLS[1:3], ("real", "virtual")):
            check(outcome)
            assert outcome.readable


@pytest.fixture
def recorders(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Recorder, int]]:
    """Each recorder that was started, with the wall time at which it was ready [ns]."""
    starts: list[tuple[Recorder, int]] = []

    class Noted(Recorder):
        @classmethod
        def start(cls, *arguments: Any, **options: Any) -> Recorder:
            made = Recorder.start(*arguments, **options)
            starts.append((made, time.time_ns()))
            return made

    monkeypatch.setattr(run, "Recorder", Noted)
    return starts


def reading(at: float, do: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something once, before the sensors are read at a time."""
    read, done = DeviceSet.read, []

    def read_after(devices: DeviceSet, t: float, delay: float) -> Sample:
        if t >= at and not done:
            done.append(t)
            do()
        return read(devices, t, delay)

    monkeypatch.setattr(DeviceSet, "read", read_after)


def test_a_lost_recorder_is_named_in_the_outcome_and_the_loop_goes_on(recorders, tmp_path, monkeypatch) -> None:
    path = tmp_path / "run.mcap"
    recorded = unfinished_name(path)

    def kill() -> None:
        until(lambda: recorded.stat().st_size >= 60_000, 180.0)  # the first rows are flushed
        os.kill(recorders[0][0].pid, signal.SIGKILL)

    reading(10.0, kill, monkeypatch)
    log = granite.simulate(granite.load("free-flyer", ["loop.duration_s=20.0"]), path)
    assert log.summary["ended"] == "completed"
    assert log.summary["ended_at_s"] == pytest.approx(19.995)
    assert log.summary["log_failure"] == "the recorder was killed by SIGKILL"
    assert log.summary["rows_lost"] > 0
    assert not log.complete
    assert 0 < len(log.rows) <= 2000


def test_the_date_of_a_log_is_that_of_its_first_tick_and_not_of_the_recorders_start(
    recorders, tmp_path, monkeypatch
) -> None:
    first: list[int] = []
    reading(0.0, lambda: first.append(time.time_ns()), monkeypatch)
    bed = granite.load("free-flyer", ["loop.duration_s=0.1", *UNHURRIED])
    log = granite.simulate(bed, tmp_path / "run.mcap", realtime=True)
    assert recorders[0][1] <= int(log.info["start_ns"]) <= first[0]


@pytest.mark.slow
@pytest.mark.parametrize("kills", [10, pytest.param(50, marks=pytest.mark.study)])
def test_many_kills_leave_logs_as_promised(kills: int) -> None:
    for outcome in kill_many(kills, seed=2):
        check(outcome)
