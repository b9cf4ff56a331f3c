"""A calibration on real devices stops them whatever happens, and says where a stop is not confirmed."""

import os
import signal

import pytest

from granite.calibration import session
from granite.calibration.joints import JointsProcedure
from granite.calibration.motors import MotorsProcedure
from granite.calibration.session import carry_out
from granite.calibration.simulated import SimulatedOperator
from granite.config.errors import GraniteError, InputError
from granite.config.loader import load
from granite.rt.loop.clock import TooLateError
from granite.rt.process.posix_signals import SignalInterrupt, interrupting, name_of
from tests.support.paused_clock import PausedClock

BED = load("free-flyer")


class SlowToStop:
    """Devices of which one confirms its stop late or never, and a signal that comes while the stop lasts."""

    def __init__(self, confirms: bool, number: int) -> None:
        self._confirms, self._number, self.calls = confirms, number, []

    def open(self):
        self.calls.append("open")

    def stop(self, t, paced):
        os.kill(os.getpid(), self._number)
        self.calls.append("stop")
        return {} if self._confirms else {"motors": "no answer"}

    def close(self, paced):
        self.calls.append("close")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=name_of)
@pytest.mark.parametrize("confirms", [True, False])
def test_no_signal_interrupts_the_stop_and_an_unconfirmed_one_is_told(monkeypatch, confirms, number):
    devices = SlowToStop(confirms, number)
    monkeypatch.setattr(session, "build_subset", lambda *_: (devices, BED))
    told = pytest.raises(InputError) if confirms else pytest.raises(GraniteError, match="not confirmed: motors")
    with interrupting(), told, session.real_bench(JointsProcedure(BED, "joint_sensors")):
        raise InputError("a step could not be measured")
    assert devices.calls == ["open", "stop", "close"]


def send(number: int) -> None:
    """Send a signal to this process, which survives it only if it is caught."""
    assert signal.getsignal(number) is not signal.SIG_DFL
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGALRM, signal.SIGTERM], ids=name_of)
def test_a_signal_ends_the_calibration_while_the_operator_is_asked(monkeypatch, number):
    devices = SlowToStop(True, signal.SIGINT)
    monkeypatch.setattr(session, "build_subset", lambda *_: (devices, BED))
    with pytest.raises(SignalInterrupt, match=number.name), session.real_bench(JointsProcedure(BED, "joint_sensors")):
        send(number)
    assert devices.calls == ["open", "stop", "close"]


class Slow(SimulatedOperator):
    """Takes minutes for each step; and the process pauses while a step is measured."""

    def __init__(self, procedure, pause_s: float) -> None:
        super().__init__(procedure, 1)
        self._clock, self._pause_s = PausedClock(), pause_s
        self.bench._ticks._clock = self._clock

    def ready(self, step):
        self._clock.pause(300.0)
        known = super().ready(step)
        self._clock.pause_next_wait(self._pause_s)
        return known

    def retries(self, refusal):
        raise AssertionError("the operator would be asked while actuators are driven")


def test_the_time_of_the_operator_is_no_lateness():
    procedure = JointsProcedure(BED, "joint_sensors")
    operator = Slow(procedure, 0.0)
    assert carry_out(procedure, operator.bench, operator).samples
    assert operator.bench.t > 300.0 * len(procedure.steps)


def test_a_pause_of_the_process_ends_the_calibration_by_name():
    procedure = JointsProcedure(BED, "joint_sensors")
    operator = Slow(procedure, 2.0)
    with pytest.raises(TooLateError, match=r"2 s after its tick was due, limit 0.25 s"):
        carry_out(procedure, operator.bench, operator)


def test_motors_are_at_rest_before_the_operator_is_asked_to_repeat_a_step():
    procedure = MotorsProcedure(BED)
    operator = SimulatedOperator(procedure, 1)
    commands, ticked = [], operator.bench.tick

    def tick(command=None):
        commands.append(command)
        sample = ticked(command)
        return sample._replace(frames=tuple(frame._replace(number=1) for frame in sample.frames))

    operator.bench.tick = tick
    with pytest.raises(InputError, match="frames are missing"):
        carry_out(procedure, operator.bench, operator)
    assert any(command for command in commands)
    assert commands[-1] == {}
