"""Every signal that would end the process ends the run instead, by name; a batch of runs ends with it."""

import contextlib
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

import granite
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.drivers.message_lines import receive
from granite.logs.unfinished import unfinished_name
from granite.rt.loop.clock import RealClock, VirtualClock
from granite.rt.process.posix_signals import TERMINATING, SignalInterrupt, StopSignals, interrupting, name_of
from granite.rt.recording.recorder import Recorder
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run
from tests.support.blocking_devices import noted, run_with_driver
from tests.support.lost_exceptions import loses_the_exception
from tests.support.unhurried import OPTIONS, UNHURRIED
from tests.support.waiting import until

UNHANDLED = [number for number in TERMINATING if signal.getsignal(number) is signal.SIG_DFL]
#: of the numbered ones, which have no names, the first and the last stand for those between
BETWEEN = range(signal.SIGRTMIN + 1, signal.SIGRTMAX)


@pytest.fixture
def passed_on():
    """The signals that reach this process after a run."""
    received: list[int] = []
    before = {
        number: signal.signal(number, lambda n, _: received.append(n)) for number in (signal.SIGINT, signal.SIGTERM)
    }
    yield received
    for number, handler in before.items():
        signal.signal(number, handler)


def signalled(number: int, clock, monkeypatch, at: float = 0.1):
    """The outcome of a run in which a signal arrives, and its plant."""
    run = Run(load("free-flyer", ["loop.duration_s=1.0", *UNHURRIED]))
    read = run.devices.read

    def read_and_signal(t: float, delay: float):
        if t == pytest.approx(at):
            os.kill(os.getpid(), number)
        return read(t, delay)

    monkeypatch.setattr(run.devices, "read", read_and_signal)
    return run.execute(clock, Memory(run.channels, run.ticks)), run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("clock", [VirtualClock, RealClock])
def test_a_signal_ends_the_run_after_its_tick_and_is_passed_on(number, clock, passed_on, monkeypatch):
    before = signal.getsignal(number)
    outcome, run = signalled(number, clock(), monkeypatch)
    assert outcome.reason is Reason.OPERATOR_STOP
    assert 0.1 < outcome.t < 0.6  # it brakes to rest first
    assert run.ending(outcome)["text"] == f"the operator stopped the run: {number.name}"
    assert not run.lab.plant.torque_sources[0].torque.any()
    assert passed_on == [number]
    assert signal.getsignal(number) is before


def test_the_emergency_stop_works_where_a_shell_in_the_background_made_the_process_ignore_it(monkeypatch):
    before = signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    try:
        outcome, run = signalled(signal.SIGQUIT, RealClock(), monkeypatch)
        assert signal.getsignal(signal.SIGQUIT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGQUIT, before)
    assert outcome.reason is Reason.EMERGENCY_STOP
    assert outcome.t < 0.13
    assert not run.lab.plant.torque_sources[0].torque.any()


BATCH = """
import signal, sys, os
import granite
for i in range(3):
    print(i, flush=True)
    run = granite.Run(granite.load("free-flyer", ["loop.duration_s=0.5", *sys.argv[4:]]))
    read = run.devices.read
    def read_and_signal(t, delay):
        if t > 0.1:
            os.kill(os.getpid(), int(sys.argv[1]))
        return read(t, delay)
    run.devices.read = read_and_signal
    run.record(sys.argv[2], realtime=sys.argv[3] == "real")
"""


def batch(number: int, log: Path, mode: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BATCH, str(int(number)), str(log), mode, *UNHURRIED]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def check_batch(number: int, log: Path, mode: str) -> None:
    done = batch(number, log, mode)
    assert done.stdout == "0\n", done.stderr  # the batch ended with its first run
    assert done.returncode == -number
    recorded = granite.read_log(log)
    assert recorded.complete
    assert recorded.summary["ended"] == "operator_stop"
    assert recorded.summary["text"] == f"the operator stopped the run: {name_of(number)}"
    assert "not_stopped" not in recorded.summary
    assert recorded.events[-1]["text"] == recorded.summary["text"]


@pytest.mark.parametrize("mode", ["virtual", pytest.param("real", marks=pytest.mark.slow)])
def test_ctrl_c_in_a_run_ends_the_batch_with_a_whole_log(mode, tmp_path):
    check_batch(signal.SIGINT, tmp_path / "run.mcap", mode)


@pytest.mark.slow
def test_a_closed_terminal_ends_the_run_with_a_whole_log(tmp_path):
    """Also where the progress bar is being drawn on it."""
    log = tmp_path / "run.mcap"
    command = [sys.executable, "-m", "granite.cli", "sim", "free-flyer", "--realtime", "--out", str(log), *OPTIONS]
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, command)
    deadline = time.monotonic() + 180
    while not unfinished_name(log).exists() or unfinished_name(log).stat().st_size < 30_000:
        assert time.monotonic() < deadline
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 65536)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    recorded = granite.read_log(log)
    assert recorded.complete
    assert recorded.summary["text"] == "the operator stopped the run: SIGHUP"


@pytest.mark.slow
def test_a_log_is_closed_although_its_terminal_was_stopped_by_ctrl_s(tmp_path):
    """Also where the progress bar is being drawn on it; the tables after the run wait for Ctrl-Q."""
    log = tmp_path / "run.mcap"
    options = ["--realtime", "--duration", "4", "--out", str(log), *OPTIONS]
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "granite.cli", "sim", "free-flyer", *options])
    try:
        deadline = time.monotonic() + 60
        while not unfinished_name(log).exists() or unfinished_name(log).stat().st_size < 30_000:
            assert time.monotonic() < deadline
            if select.select([terminal], [], [], 0.05)[0]:
                os.read(terminal, 65536)
        os.write(terminal, b"\x13")
        until(log.exists, 40.0)  # the loop would wait for 60 s
        os.write(terminal, b"\x11")
        with contextlib.suppress(OSError):
            while os.read(terminal, 65536):
                pass
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(terminal)
    recorded = granite.read_log(log)
    assert recorded.complete
    assert recorded.summary["ended"] == "completed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=[pytest.mark.study] * (n in BETWEEN), id=name_of(n)) for n in UNHANDLED]
)
def test_every_signal_that_ends_a_process_ends_the_run_with_a_stop_and_a_whole_log(number, tmp_path):
    check_batch(number, tmp_path / "run.mcap", "virtual")


def test_signals_with_a_handler_of_the_user_are_left_to_it(monkeypatch):
    received: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda n, _: received.append(n))
    try:
        outcome, _ = signalled(signal.SIGUSR1, VirtualClock(), monkeypatch)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert outcome.reason is Reason.PASSED
    assert received == [signal.SIGUSR1]


@pytest.mark.slow
def test_ctrl_z_ends_a_run_in_real_time_because_the_last_command_would_stay_in_force(tmp_path):
    log = tmp_path / "run.mcap"
    once = BATCH.replace('"real")', '"real", pass_signals_on=False)\n    break')  # else it would be suspended now
    command = [sys.executable, "-c", once, str(int(signal.SIGTSTP)), str(log), "real", *UNHURRIED]
    assert subprocess.run(command, timeout=300, check=False).returncode == 0
    assert granite.read_log(log).summary["text"] == "the operator stopped the run: SIGTSTP"


BACKGROUND = """
import os, signal, sys, termios
from granite.rt.process.posix_signals import StopSignals
attributes = termios.tcgetattr(2)
attributes[3] |= termios.TOSTOP
termios.tcsetattr(2, termios.TCSANOW, attributes)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    with StopSignals(paced=sys.argv[1] == "real"):
        os.write(2, b"granite: armed")
    os._exit(0)
status = os.waitpid(child, os.WUNTRACED)[1]
if os.WIFSTOPPED(status):
    os.kill(child, signal.SIGKILL)
    os._exit(os.WSTOPSIG(status))
"""


@pytest.mark.parametrize(("mode", "stopped_by"), [("real", 0), ("virtual", signal.SIGTTOU)])
def test_a_terminal_never_suspends_a_run_in_real_time_in_its_background(mode, stopped_by):
    """With `stty tostop` it would as soon as the run writes: the last command would stay in force."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", BACKGROUND, mode])
    written = b""
    with contextlib.suppress(OSError):  # the terminal has no other end any more
        while received := os.read(terminal, 65536):
            written += received
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == stopped_by, written
    assert (b"granite: armed" in written) == (mode == "real")


def test_signals_of_the_background_are_put_back_after_a_run_and_left_to_a_handler_of_the_user():
    with StopSignals(paced=True):
        assert signal.getsignal(signal.SIGTTIN) is signal.getsignal(signal.SIGTTOU) is signal.SIG_IGN
    assert signal.getsignal(signal.SIGTTIN) is signal.getsignal(signal.SIGTTOU) is signal.SIG_DFL

    def own(number, frame):
        """Of the user."""

    signal.signal(signal.SIGTTOU, own)
    try:
        with StopSignals(paced=True):
            assert signal.getsignal(signal.SIGTTOU) is own
    finally:
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)


@pytest.mark.parametrize("clock", [VirtualClock, RealClock])
def test_a_second_ctrl_c_stops_although_the_driver_blocks(clock, tmp_path, passed_on):
    run = run_with_driver(tmp_path, blocks="write", how="signals")
    outcome = run.execute(clock(), Memory(run.channels, run.ticks))
    assert outcome.reason is Reason.OPERATOR_STOP
    assert outcome.detail == "SIGINT"
    assert [verb for verb, _ in noted(run)][-3:] == ["write", "stop", "close"]
    assert not outcome.not_stopped
    assert passed_on == [signal.SIGINT]


def test_a_signal_while_devices_are_opened_interrupts_at_once_and_leaves_no_log(tmp_path, passed_on):
    run = run_with_driver(tmp_path, blocks="open", how="signals")
    with pytest.raises(KeyboardInterrupt):
        run.record(tmp_path / "run.mcap", realtime=True)
    assert not (tmp_path / "run.mcap").exists()
    assert passed_on == [signal.SIGINT]


@pytest.mark.parametrize("is_late", [False, True], ids=["", "when the log is there already"])
def test_a_signal_while_the_recorder_starts_leaves_neither_a_log_nor_a_process(
    is_late, tmp_path, passed_on, monkeypatch
):
    initial, started = Recorder.__init__, []
    unfinished = unfinished_name(tmp_path / "run.mcap")

    def late(recorder: Recorder, *arguments):
        """As on a busy machine: the recorder's process is faster than this one."""
        until(lambda: not is_late or unfinished.exists())
        initial(recorder, *arguments)
        started.append(recorder)

    monkeypatch.setattr(Recorder, "__init__", late)

    def interrupted(pipe: IO[str]):
        answer = receive(pipe)
        os.kill(os.getpid(), signal.SIGINT)
        return answer

    monkeypatch.setattr("granite.rt.recording.recorder.receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Run(load("free-flyer", ["loop.duration_s=0.5"])).record(tmp_path / "run.mcap")
    assert os.listdir(tmp_path) == []
    assert not started[0].alive
    assert passed_on == [signal.SIGINT]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
def test_no_run_begins_after_a_signal_whose_exception_was_lost(number, tmp_path):
    run = run_with_driver(tmp_path, blocks="nothing", how="")
    with interrupting():
        loses_the_exception(number)
        with pytest.raises(SignalInterrupt, match=name_of(number)):
            run.record(tmp_path / "run.mcap", realtime=True)
    assert not (tmp_path / "run.mcap").exists()
    assert noted(run) == []


def test_a_signal_of_an_earlier_command_is_forgotten():
    with interrupting():
        loses_the_exception(signal.SIGINT)
    with interrupting():
        run = Run(load("free-flyer", ["loop.duration_s=0.1"]))
        assert run.execute(VirtualClock(), Memory(run.channels, run.ticks)).reason is Reason.PASSED


def test_no_tick_follows_a_signal_that_was_lost_while_devices_were_opened(passed_on, monkeypatch):
    run = Run(load("free-flyer", ["loop.duration_s=0.1"]))
    opened = run.devices.open

    def open_and_lose(*arguments):
        opened(*arguments)
        loses_the_exception(signal.SIGINT)

    monkeypatch.setattr(run.devices, "open", open_and_lose)
    outcome = run.execute(VirtualClock(), Memory(run.channels, run.ticks))
    assert (outcome.reason, outcome.ticks, outcome.detail) == (Reason.OPERATOR_STOP, 0, "SIGINT")
    assert passed_on == [signal.SIGINT]
