"""The test of a device stops the device whatever happens: signals, one after the other, and pauses of the process."""

import signal

import numpy as np
import pytest

from granite.config.loader import load
from granite.rt.checks.device_test import try_units
from granite.rt.loop.clock import RealClock, TooLateError, VirtualClock
from granite.rt.process.posix_signals import SignalInterrupt, interrupting, name_of
from granite.sim.devices.motors import SimulatedMotors
from tests.support.command_line import granite as granite  # the fixture
from tests.support.lost_exceptions import loses_the_exception
from tests.support.paused_clock import PausedClock

# The machine of the tests may be loaded: no tick is too late.
BED = load("free-flyer", {"loop.longest_lateness_s": 30.0})


@pytest.fixture
def calls(monkeypatch):
    """Every call of the motors by verb, with whether it drove them; and what is done after the first that drives."""
    stops: list[tuple[str, bool]] = []
    written, stopped = SimulatedMotors.write, SimulatedMotors.stop

    class Calls:
        made = stops
        when_driven = staticmethod(lambda: None)
        when_stopped = staticmethod(lambda: None)

    def write(self, t, setpoint):
        frame = written(self, t, setpoint)
        is_first = np.any(setpoint) and ("write", True) not in stops
        stops.append(("write", bool(np.any(setpoint))))
        if is_first:
            Calls.when_driven()
        return frame

    def stop(self, t):
        Calls.when_stopped()
        stops.append(("stop", False))
        return stopped(self, t)

    monkeypatch.setattr(SimulatedMotors, "write", write)
    monkeypatch.setattr(SimulatedMotors, "stop", stop)
    monkeypatch.setattr(SimulatedMotors, "close", lambda self: stops.append(("close", False)))
    return Calls


def send(number: int) -> None:
    """Send a signal to this thread, at once; the process survives it only if it is caught."""
    assert signal.getsignal(number) not in (signal.SIG_DFL, signal.SIG_IGN)
    signal.raise_signal(number)


# One at a time: seven at once do not fit on the stack that pytest's fault handler gives to signals.
PAIRS = [
    (signal.SIGINT, signal.SIGQUIT),
    (signal.SIGTERM, signal.SIGHUP),
    (signal.SIGALRM, signal.SIGINT),
    (signal.SIGXCPU, signal.SIGTERM),
    (signal.SIGTSTP, signal.SIGTSTP),
    (signal.SIGQUIT, signal.SIGALRM),
]


@pytest.fixture
def hang_up_ends_the_process():
    """SIGHUP as a terminal's programs have it: under nohup it is ignored, and stays so."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hang_up_ends_the_process")
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=name_of)
def test_a_signal_ends_the_test_with_a_stop_that_no_other_one_interrupts(first, second, calls):
    calls.when_driven = lambda: send(first)
    calls.when_stopped = lambda: send(second)
    with interrupting(), pytest.raises(SignalInterrupt, match=first.name):
        list(try_units(BED, "motors", RealClock(), simulate=list(BED.devices)))
    assert calls.made[-3:] == [("write", True), ("stop", False), ("close", False)]
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_a_signal_that_comes_first_while_the_device_is_stopped_does_not_interrupt_that(calls):
    calls.when_stopped = lambda: send(signal.SIGTERM)
    with interrupting():
        assert all(result.passed for result in try_units(BED, "motors", VirtualClock(), simulate=list(BED.devices)))
    assert calls.made[-2:] == [("stop", False), ("close", False)]


def test_the_test_ends_after_a_signal_whose_exception_was_lost(calls):
    calls.when_driven = lambda: loses_the_exception(signal.SIGTERM)
    with interrupting(), pytest.raises(SignalInterrupt, match="SIGTERM"):
        list(try_units(BED, "motors", VirtualClock(), simulate=list(BED.devices)))
    assert calls.made[-3:] == [("write", True), ("stop", False), ("close", False)]


@pytest.mark.parametrize("place", ["in the tick", "before the next"])
def test_a_test_that_was_suspended_while_it_drove_ends_by_name_when_it_continues(place, calls):
    bed, clock = load("free-flyer"), PausedClock()
    calls.when_driven = lambda: clock.pause(2.0) if place == "in the tick" else clock.pause_next_wait(2.0)
    with pytest.raises(TooLateError, match=r"2 s after its tick was due, limit 0.25 s"):
        list(try_units(bed, "motors", clock, simulate=list(bed.devices)))
    assert calls.made.count(("write", True)) == 1  # nothing old is written after the pause
    assert calls.made[-3:] == [("write", True), ("stop", False), ("close", False)]


def test_the_command_names_the_pause(granite, calls, monkeypatch):
    clock = PausedClock()
    calls.when_driven = lambda: clock.pause(2.0)
    monkeypatch.setattr("granite.rt.loop.clock.RealClock", lambda: clock)
    said = granite("test-device", "free-flyer", "motors", "--simulate", ",".join(BED.devices))
    assert (said.code, said.err) == (3, "granite: ended by too_late: 2 s after its tick was due, limit 0.25 s\n")


@pytest.mark.parametrize("level", ["0", "-1", "nan"])
def test_a_level_that_is_not_above_zero_is_refused(level, granite, calls):
    said = granite("test-device", "free-flyer", "motors", "--simulate", ",".join(BED.devices), "--level", level)
    assert said.code == 2
    assert "expected above 0, at most 0.3" in said.err
    assert calls.made == []
