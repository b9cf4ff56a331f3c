"""The loop keeps its grid, answers overruns as configured, and ends in every case with the actuators at rest."""

import numpy as np
import pytest

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.records import Status
from granite.config.verdict_subjects import subjects
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.watched_loop import PERIOD, SlowClock, is_at_rest, run


def test_a_whole_run_keeps_the_grid_and_ends_at_rest():
    outcome, rows, channels, devices, at_rest = run()
    assert outcome.reason is Reason.PASSED
    np.testing.assert_array_equal(rows[:, channels.column("/sample", "t_s")], np.arange(100) * PERIOD)
    assert devices.stops == 1
    assert at_rest


def test_skip_drops_the_ticks_that_were_missed():
    clock = SlowClock({10: 0.018})
    outcome, rows, channels, *_ = run("loop.overrun=skip", clock=clock)
    ticks = rows[:, channels.column("/timing", "tick")]
    assert outcome.overruns == 1
    assert ticks[10:12].tolist() == [10, 14]
    assert outcome.ticks == 97


def test_catch_up_runs_every_tick_late_but_in_turn():
    clock = SlowClock({10: 0.018})
    outcome, rows, channels, *_ = run("loop.overrun=catch_up", clock=clock)
    assert outcome.ticks == 100
    assert rows[:, channels.column("/timing", "tick")].tolist() == list(range(100))
    delays = rows[:, channels.column("/timing", "delay_s")]
    assert delays[11] > 0.01
    assert delays[30] == 0.0


def test_stop_ends_the_run_at_the_first_overrun():
    outcome, rows, _, devices, at_rest = run("loop.overrun=stop", clock=SlowClock({10: 0.018}))
    assert outcome.reason is Reason.OVERRUN
    assert len(rows) == 11
    assert devices.stops == 1
    assert at_rest


@pytest.mark.parametrize("error", [RuntimeError("unplugged"), KeyboardInterrupt(), SystemExit(1), MemoryError()])
def test_an_exception_inside_the_loop_ends_it_at_rest(error: BaseException):
    outcome, _, _, devices, at_rest = run(fail_at=0.3, error=error)
    assert outcome.reason is Reason.FAULT
    assert outcome.fault is error
    assert devices.stops == 1
    assert at_rest


def test_the_guard_ends_the_run_at_rest_and_the_reason_is_in_the_row():
    edge = "safety.table_m=[0.99, 0.3, 1.001, 2.0]"
    at_once = "safety.responses={table_edge='stop_at_once', table_edge_ahead='warn'}"
    outcome, rows, channels, devices, at_rest = run(edge, at_once, "behaviour.check_moves=false", ticks=2000)
    assert outcome.reason is Reason.TABLE_EDGE
    assert rows[-1, channels.column("/verdict", "reason")] == Reason.TABLE_EDGE
    assert not rows[-1, channels.columns("/verdict", "setpoint.motors")].any()
    assert not rows[-1, channels.columns("/verdict", "setpoint.thrusters")].any()
    assert devices.stops == 1
    assert at_rest


@pytest.mark.parametrize("first", ["motors", "thrusters"])
def test_one_actuator_that_cannot_stop_does_not_keep_the_other_running(first, monkeypatch):
    whole = Run(load("free-flyer", ["loop.duration_s=1.0"]))
    plant = whole.lab.plant
    broken, other = plant.torque_sources[0], plant.thrust_sources[0]
    if first == "thrusters":
        broken, other = other, broken
    stopped = []
    monkeypatch.setattr(other, "stop", stopped.append)

    def fail(t):
        raise OSError("board gone")

    monkeypatch.setattr(broken, "stop", fail)
    outcome = whole.execute(VirtualClock(), Memory(whole.channels, whole.ticks))
    assert outcome.reason is Reason.STOP_NOT_CONFIRMED
    assert outcome.not_stopped[first] == "OSError: board gone"
    assert stopped[0] == pytest.approx(0.995)


def event(device: str, what: str) -> str:
    return f"simulation.events=[{{kind='fault', at_s=0.3, device='{device}', what='{what}'}}]"


@pytest.mark.parametrize("device", ["motors", "thrusters"])
@pytest.mark.parametrize(("what", "status"), [("silent", Status.SILENT), ("refuses", Status.REFUSED)])
def test_an_actuator_that_is_silent_or_refuses_ends_the_run_with_its_name(device, what, status):
    outcome, rows, channels, devices, at_rest = run(event(device, what))
    assert outcome.reason is Reason.ACTUATOR_FAULT
    assert outcome.t == pytest.approx(0.3 + PERIOD)  # its frame is seen with the next sample
    assert rows[-2, channels.column("/applied", f"{device}_status")] == status
    assert rows[-1, channels.column("/sample", f"applied_{device}_status")] == status
    named = subjects(load("free-flyer"))[int(rows[-1, channels.column("/verdict", "subject")])]
    assert named.name == device
    verdict = channels.read(rows[-1]).verdict
    assert not any(setpoint.any() for setpoint in verdict.command.setpoints)
    assert devices.stops == 1
    assert at_rest


@pytest.mark.parametrize("device", ["joint_sensors", "vision"])
def test_a_sensor_that_says_it_is_broken_ends_the_run_with_its_name(device, monkeypatch):
    bed = load("free-flyer", ["loop.duration_s=0.5"])
    whole = Run(bed)
    at, read = list(bed.sensors).index(device), whole.devices.read

    def breaks(t, delay):
        sample = read(t, delay)
        frames = list(sample.frames)
        frames[at] = frames[at]._replace(status=Status.BROKEN if t > 0.299 else Status.OK)
        return sample._replace(frames=tuple(frames))

    monkeypatch.setattr(whole.devices, "read", breaks)
    outcome = whole.execute(VirtualClock(), Memory(whole.channels, whole.ticks))
    assert outcome.reason is Reason.SENSOR_FAULT
    assert outcome.t == pytest.approx(0.3)
    assert whole.ending(outcome)["text"] == f"{Reason.SENSOR_FAULT.text}: {device}, status BROKEN"
    assert is_at_rest(whole)


def test_the_way_a_run_ended_names_coordinate_value_and_limit():
    log = simulate_in_memory(
        load("free-flyer", ["safety.table_m=[0.99, 0.3, 1.001, 2.0]", "behaviour.check_moves=false"])
    )
    assert log.summary["ended"] == "table_edge"
    reasons = log.rows[:, log.channels.column("/verdict", "reason")]
    x = log.rows[np.argmax(reasons == Reason.TABLE_EDGE), log.channels.column("/state", "base_x_m")]
    assert log.summary["text"].endswith(f"{Reason.TABLE_EDGE.text}: base_x was {x:.6g} m, limit 1.001 m")
    assert log.summary["ended_at_s"] == log.rows[-1, log.channels.column("/sample", "t_s")]


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    def rows(seed: int):
        log = simulate_in_memory(load("free-flyer", ["loop.duration_s=2.0", f"seed={seed}"]))
        return log.rows[:, : log.channels.column("/timing", "tick")]

    np.testing.assert_array_equal(rows(5), rows(5))
    assert not np.array_equal(rows(5), rows(6))
