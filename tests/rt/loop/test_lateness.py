"""Nothing old is acted upon: after a pause of the process the run ends before the next command is written."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import granite
from granite.config.reasons import Reason
from granite.logs.unfinished import unfinished_name
from tests.support.waiting import until
from tests.support.watched_loop import PERIOD, SlowClock, run

LIMIT = 50 * PERIOD


@pytest.mark.parametrize("policy", ["skip", "catch_up", "stop"])
def test_after_a_pause_no_command_is_written_whatever_the_policy(policy):
    outcome, rows, channels, devices, at_rest = run(f"loop.overrun={policy}", clock=SlowClock({10: 5.0}))
    assert outcome.reason is Reason.TOO_LATE
    assert outcome.detail == "5 s after its tick was due, limit 0.25 s"
    assert outcome.t == pytest.approx(10 * PERIOD)
    assert rows[:, channels.column("/timing", "tick")].tolist() == list(range(10))
    assert devices.last[0].t == pytest.approx(9 * PERIOD)  # the last command is that of the tick before the pause
    assert devices.stops == 1
    assert at_rest


def test_ticks_that_are_caught_up_are_never_later_than_the_limit():
    clock = SlowClock(dict.fromkeys(range(10, 40), 0.02))
    outcome, rows, channels, *_ = run("loop.overrun=catch_up", clock=clock)
    assert outcome.reason is Reason.TOO_LATE
    assert 0.1 < rows[:, channels.column("/timing", "delay_s")].max() <= LIMIT


def test_lateness_up_to_the_limit_is_handled_by_the_policy():
    changes = "loop.longest_lateness_s=6.0", "safety.monitor.counter_step=2000", "safety.monitor.torque_step_ratio=none"
    outcome, *_ = run(*changes, clock=SlowClock({10: 5.0}), ticks=1200)
    assert outcome.reason is Reason.PASSED
    assert outcome.overruns == 1


@pytest.mark.slow
def test_a_loop_that_was_suspended_ends_when_it_continues(tmp_path):
    log = tmp_path / "run.mcap"
    options = ["--realtime", "--json", "--out", str(log), "--set", "loop.priority=0", "--set", "loop.overrun=catch_up"]
    limits = ["--set", "loop.longest_lateness_s=1.5", "--set", "loop.watchdog_s=1.5"]
    command = [sys.executable, "-m", "granite.cli", "sim", "free-flyer", *options, *limits]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        written = unfinished_name(log)
        until(lambda: written.exists() and written.stat().st_size >= 30_000, 180.0)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        time.sleep(2.0)
        process.send_signal(signal.SIGCONT)
        summary = json.loads(process.communicate(timeout=300)[0])
    assert process.returncode == 3
    assert summary["ended"] == "too_late"
    recorded = granite.read_log(log)
    assert recorded["/timing"].delay_s.max() < 1.5
