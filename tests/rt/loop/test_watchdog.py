"""A driver that blocks can't keep the actuators running, and a stop is believed only when a frame confirms it."""

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import granite
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.rt.loop.clock import RealClock, VirtualClock
from granite.rt.process.posix_signals import name_of
from granite.rt.recording.rows_in_memory import Memory
from tests.support.blocking_devices import noted, run_with_driver

SOON = {"watchdog_s": 0.4}


def executed(run: granite.Run, clock):
    return run.execute(clock, Memory(run.channels, run.ticks))


def test_a_driver_that_blocks_is_stopped_interrupted_and_named_in_a_whole_log(tmp_path):
    run = run_with_driver(tmp_path, SOON, blocks="write")
    summary = run.record(tmp_path / "run.mcap", realtime=True)
    assert summary["ended"] == "watchdog"
    assert summary["text"].startswith("no tick ended within loop.watchdog_s: the loop was at driver.py:")
    assert "not_stopped" not in summary
    assert [verb for verb, _ in noted(run)][-3:] == ["stop", "stop", "close"]  # by the watchdog, by the loop
    assert not run.lab.plant.thrust_sources[0].thrust(100, 101).any()
    log = granite.read_log(tmp_path / "run.mcap")
    assert log.complete
    assert log.summary["ended"] == "watchdog"
    assert log.t[-1] <= 0.0951


def test_a_driver_that_computes_without_end_is_interrupted(tmp_path):
    run = run_with_driver(tmp_path, SOON, blocks="write", how="spin")
    outcome = executed(run, RealClock())
    assert outcome.reason is Reason.WATCHDOG
    assert not outcome.not_stopped


def test_in_virtual_time_there_is_no_watchdog(tmp_path, monkeypatch):
    """A slow tick of a simulation is no fault: the same driver, blocked for longer than the limit."""
    run = run_with_driver(tmp_path, {"watchdog_s": 0.01, "duration_s": 0.05})
    write = run.devices.write

    def slow(t, command):
        time.sleep(0.05)
        return write(t, command)

    monkeypatch.setattr(run.devices, "write", slow)
    assert executed(run, VirtualClock()).reason is Reason.PASSED


FORKED = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from tests.support.blocking_devices import run_with_driver
folder = Path(sys.argv[2])
run_with_driver(folder, {"watchdog_s": 0.4}, blocks="write", how=sys.argv[3]).record(folder / "run.mcap", realtime=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["c", "swallow"])
def test_a_driver_that_can_not_be_interrupted_ends_the_process_with_a_whole_log(how, tmp_path):
    command = [sys.executable, "-c", FORKED, str(Path(__file__).parent), str(tmp_path), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "by watchdog" in done.stderr
    assert "Traceback" not in done.stderr
    log = granite.read_log(tmp_path / "run.mcap")
    assert log.complete
    assert log.summary["ended"] == "watchdog"


@pytest.mark.parametrize("clock", [VirtualClock, RealClock])
def test_a_stop_is_repeated_until_a_frame_confirms_it(clock, tmp_path):
    run = run_with_driver(tmp_path, {"stop_timeout_s": 5.0}, confirm_after=3)
    outcome = executed(run, clock())
    assert outcome.reason is Reason.PASSED
    assert not outcome.not_stopped
    period = run.bed.loop.period_s
    stops = [t for verb, t in noted(run) if verb == "stop"]
    assert stops == pytest.approx([outcome.t + i * period for i in range(4)])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"confirm_after": 10**6}, "it still applies"),
        ({"fails": "stop"}, "OSError: the port is gone"),
        ({"blocks": "stop"}, "it did not return in"),
    ],
    ids=["not confirmed", "raises", "blocks"],
)
def test_an_actuator_that_can_not_be_confirmed_safe_is_named_in_the_outcome(options, why, tmp_path):
    # One that returns is given time to do so, also on a busy machine.
    limit_s = 0.1 if "blocks" in options else 0.7
    run = run_with_driver(tmp_path, {"duration_s": 0.1, "stop_timeout_s": limit_s}, **options)
    ending = run.ending(executed(run, RealClock()))
    assert ending["ended"] == "stop_not_confirmed"
    assert list(ending["not_stopped"]) == ["motors"]
    assert ending["not_stopped"]["motors"].startswith(why)
    assert "stop not confirmed: motors" in ending["text"]
    assert not run.lab.plant.thrust_sources[0].thrust(100, 101).any()  # the others were stopped


def test_an_actuator_that_returns_is_not_called_blocked_where_pauses_are_long(tmp_path, monkeypatch):
    """As on a busy machine: each pause of 5 ms takes 60 ms."""
    slow = SimpleNamespace(sleep=lambda _: time.sleep(0.06), monotonic=time.monotonic)
    monkeypatch.setattr("granite.drivers.device_set.time", slow)
    run = run_with_driver(tmp_path, {"duration_s": 0.1, "stop_timeout_s": 0.5}, confirm_after=10**6)
    assert executed(run, RealClock()).not_stopped["motors"].startswith("it still applies")


def test_a_silent_actuator_is_named_twice_as_the_fault_and_as_not_confirmed():
    fault = "simulation.events=[{kind='fault', at_s=0.1, device='motors', what='silent'}]"
    log = granite.simulate(load("free-flyer", ["loop.duration_s=0.3", fault]))
    assert log.summary["ended"] == "actuator_fault"
    assert log.summary["not_stopped"] == {"motors": "status SILENT"}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"fails": "close"}, id="raises", marks=pytest.mark.slow),
        pytest.param({"blocks": "close"}, id="blocks"),
    ],
)
def test_a_device_that_can_not_be_closed_keeps_neither_the_others_open_nor_the_outcome(options, tmp_path, monkeypatch):
    run = run_with_driver(tmp_path, {"duration_s": 0.1}, **options)
    closed = []
    for name, device in run.devices.all().items():
        if name != "motors":
            monkeypatch.setattr(device, "close", lambda name=name: closed.append(name), raising=False)
    summary = run.record(tmp_path / "run.mcap", realtime="blocks" in options)
    assert summary["ended"] == "completed"
    assert list(summary["not_closed"]) == ["motors"]
    assert sorted(closed) == ["joint_sensors", "thrusters", "vision"]
    log = granite.read_log(tmp_path / "run.mcap")
    assert log.complete
    assert log.summary["not_closed"] == summary["not_closed"]


def test_a_watchdog_shorter_than_two_periods_is_refused():
    with pytest.raises(InputError, match="at least two periods") as refusal:
        load("free-flyer", ["loop.watchdog_s=0.006"])
    assert refusal.value.key == "loop.watchdog_s"


def test_signals_without_a_name_are_numbered():
    assert name_of(40) == "signal 40"
