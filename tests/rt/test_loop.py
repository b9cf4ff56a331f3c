"""The loop keeps its grid, answers overruns as told, and leaves every way out with the actuators at rest."""

import os
import signal

import numpy as np
import pytest

from granite.config.loader import load
from granite.rt.channels import Channels
from granite.rt.clock import VirtualClock
from granite.rt.memory import Memory
from granite.rt.reasons import Reason
from granite.rt.run import Session, simulate_in_memory

PERIOD = 0.005


class SlowClock(VirtualClock):
    """Time in which chosen ticks take longer than their period."""

    def __init__(self, slow: dict[int, float]) -> None:
        super().__init__()
        self._slow = slow
        self.deadlines: list[float] = []

    def wait_until(self, deadline: float) -> float:
        delay = max(self._now - deadline, 0.0)
        self._now = max(self._now, deadline)
        self.deadlines.append(deadline)
        self._now += self._slow.get(round(deadline / PERIOD), 0.001)
        return delay


class Watched:
    """A device set that notes its stops and can be made to fail."""

    def __init__(self, devices, fail_at: float = np.inf, error: BaseException | None = None, do=None) -> None:
        self._devices, self._fail_at, self._error, self._do = devices, fail_at, error, do
        self.stops = 0
        self.last = None

    def read(self, t):
        if t >= self._fail_at:
            if self._do:
                self._do()
            else:
                raise self._error
        return self._devices.read(t)

    def write(self, t, command):
        self.last = self._devices.write(t, command)
        return self.last

    def stop(self, t):
        self.stops += 1
        self._devices.stop(t)

    def __getattr__(self, name):
        return getattr(self._devices, name)


def run(*changes: str, clock=None, ticks: int = 100, **watch):
    bed = load("free-flyer", (f"loop.duration_s={ticks * PERIOD}", *changes))
    session, channels = Session(bed), Channels(bed)
    memory = Memory(channels, session.ticks)
    devices = Watched(session.devices, **watch)
    session._devices = devices
    outcome = session.run(clock or VirtualClock(), memory)
    at_rest = not session.plant.motors.torque.any() and not session.plant.thrusters.thrust(100, 101).any()
    return outcome, memory.rows, channels, devices, at_rest


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_after_the_tick_at_rest(number: signal.Signals):
    before = signal.getsignal(number)
    outcome, _, _, devices, at_rest = run(fail_at=0.3, do=lambda: os.kill(os.getpid(), number))
    assert outcome.reason is Reason.OPERATOR_STOP
    assert outcome.t == pytest.approx(0.3)
    assert devices.stops == 1
    assert at_rest
    assert signal.getsignal(number) is before


def test_the_guard_ends_the_run_at_rest_and_the_reason_is_in_the_row():
    outcome, rows, channels, devices, at_rest = run("safety.table_m=[0.99, 0.3, 1.001, 2.0]", ticks=2000)
    assert outcome.reason is Reason.TABLE_EDGE
    assert rows[-1, channels.column("/verdict", "reason")] == Reason.TABLE_EDGE
    assert not rows[-1, channels.place("/applied", "torque")].any()
    assert devices.stops == 1
    assert at_rest


def test_one_actuator_that_cannot_stop_does_not_keep_the_other_running():
    bed = load("free-flyer", ["loop.duration_s=1.0"])
    session = Session(bed)

    def broken(t):
        raise OSError("valve board gone")

    session.devices.thrusters.stop = broken
    outcome = session.run(VirtualClock(), Memory(Channels(bed), session.ticks))
    assert outcome.reason is Reason.FAULT
    assert "valve board gone" in str(outcome.fault)
    assert not session.plant.motors.torque.any()


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    def rows(seed: int):
        log = simulate_in_memory(load("free-flyer", ["loop.duration_s=2.0", f"seed={seed}"]))
        return log.rows[:, : log.channels.column("/timing", "tick")]

    np.testing.assert_array_equal(rows(5), rows(5))
    assert not np.array_equal(rows(5), rows(6))
