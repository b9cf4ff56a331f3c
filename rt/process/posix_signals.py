"""Signals that would end the process: during a run they end the run instead, with a stop and a whole log.

Until the first tick a signal interrupts at once, and so it does in tests of devices and calibrations, where an operator
may be asked between the ticks. During the ticks of a run the first one is noted and the tick is finished; a
second one interrupts the tick, because it may block. While the actuators are stopped, signals are only noted.

The exception of an interruption can be lost: in the callback of a weak reference, which imports have, or in code that
catches everything. So signals before a run are noted, too (`interrupting`), and no run begins after one.

Not caught: SIGKILL, which can't be; SIGSEGV, SIGBUS, SIGFPE and SIGILL, because the processor would repeat the
instruction that raised them; and every signal that the process ignores or has its own handler for. SIGINT, SIGTERM and
SIGQUIT, the emergency stop, are always caught: a shell makes what it starts in the background ignore two of them. In
real time so is SIGTSTP (Ctrl-Z): a suspended loop would leave the last command in force. For the same reason SIGTTIN
and SIGTTOU are ignored there, by which a terminal suspends a process in its background that reads or writes.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_UNUSABLE = {signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
#: their default is not to end the process
_HARMLESS = {signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH}
_OF_THE_BACKGROUND = {signal.SIGTTIN, signal.SIGTTOU}
_SUSPENDING = {signal.SIGTSTP, *_OF_THE_BACKGROUND}
_ALWAYS = {signal.SIGINT, signal.SIGTERM, signal.SIGQUIT}
#: after an interruption the next one is this much later [s]: the first may be on its way out of the tick
_BETWEEN_INTERRUPTIONS = 0.5

#: every signal that ends a process and that it can catch
TERMINATING = tuple(sorted(signal.valid_signals() - _UNUSABLE - _HARMLESS - _SUSPENDING))


class SignalInterrupt(KeyboardInterrupt):
    """A signal interrupted the main thread."""


#: since `interrupting` began
_before_a_run: list[int] = []


def _interrupt(number: int, frame: FrameType | None) -> None:
    _before_a_run.append(number)
    raise KeyboardInterrupt


_ENDS_THE_PROCESS = (signal.SIG_DFL, signal.default_int_handler, _interrupt)


@contextmanager
def interrupting() -> Iterator[None]:
    """A command outside of its run: signals that would end the process interrupt it like Ctrl-C, and are noted."""
    _before_a_run.clear()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
    # One that is ignored, as by nohup, stays so.
    before = {n: signal.signal(n, _interrupt) for n in numbers if signal.getsignal(n) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def refuse_after_a_signal() -> None:
    """Raise `SignalInterrupt` where a signal came before: nothing may be armed any more."""
    if _before_a_run:
        raise SignalInterrupt(name_of(_before_a_run[0]))


class StopSignals:
    """Catches the signals between `with` and its end; does nothing outside the main thread.

    Parameters
    ----------
    paced
        The run is in real time.
    pass_on
        At the end, send the first signal to the handler that was there before: a script that makes many runs
        ends as it would have without a run, by KeyboardInterrupt after Ctrl-C.
    """

    def __init__(self, paced: bool = False, pass_on: bool = True) -> None:
        self._signals = {*TERMINATING, signal.SIGTSTP} if paced else set(TERMINATING)
        self._ignored = _OF_THE_BACKGROUND if paced else set()
        self._pass_on = pass_on
        self._before: dict[int, Any] = {}
        self._count = 0
        #: as many signals are noted, and the next one raises `SignalInterrupt`. Where actuators are
        #: stopped it is set to infinity by an assignment: a call could be interrupted at its beginning
        self.patience = 0.0
        self._first: int | None = None
        self._is_from_watchdog, self._interrupted_at = False, -math.inf

    def __enter__(self) -> StopSignals:
        """Replace the handlers, unless a signal came before."""
        refuse_after_a_signal()
        if threading.current_thread() is threading.main_thread():
            for number in self._signals:
                if number in _ALWAYS or signal.getsignal(number) in _ENDS_THE_PROCESS:
                    self._before[number] = signal.signal(number, self._handle)
            for number in self._ignored:
                if signal.getsignal(number) is signal.SIG_DFL:
                    self._before[number] = signal.signal(number, signal.SIG_IGN)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Put the handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._first is not None and self._pass_on:
            signal.raise_signal(self._first)

    @property
    def first(self) -> str | None:
        """Name of the first signal, if there was one."""
        return None if self._first is None else name_of(self._first)

    def tolerate(self, n: float) -> None:
        """From now on, note n signals; the next one raises `SignalInterrupt`."""
        self.patience = self._count + n

    def refuse_after_one(self) -> None:
        """Raise `SignalInterrupt` where a signal came since the handlers were replaced: its exception may be lost."""
        if self._first is not None:
            raise SignalInterrupt(name_of(self._first))

    @contextmanager
    def noted(self) -> Iterator[None]:
        """The ticks: the first signal is noted, the second raises; afterwards none does."""
        self.refuse_after_one()
        self.tolerate(1)
        try:
            yield
        finally:
            self.patience = math.inf

    def interrupt(self) -> None:
        """Raise `SignalInterrupt` in the main thread, unless it tolerates all signals; for another thread to call."""
        if self._before:
            self._is_from_watchdog = True
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._is_from_watchdog:
            self._is_from_watchdog = False
            if math.isfinite(self.patience):
                self._raise("watchdog")
            return
        self._count += 1
        self._first = self._first or number
        if self._count > self.patience:
            self._raise(name_of(number))

    def _raise(self, why: str) -> None:
        now = time.monotonic()
        if now - self._interrupted_at > _BETWEEN_INTERRUPTIONS:
            self._interrupted_at = now
            raise SignalInterrupt(why)


def name_of(number: int) -> str:
    """As in SIGTERM; real-time signals have numbers only."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
