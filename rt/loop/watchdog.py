"""The watchdog of the loop: a thread that stops the actuators when no tick ends for too long.

A driver that blocks keeps the loop's thread from every check and from every signal. The watchdog then stops each
actuator in a thread of its own, and interrupts the loop's thread by a signal, which ends a blocked call of Python (a
socket, a serial port, a lock, a sleep). Code in C that neither returns nor looks at signals can't be interrupted: then
the log is closed and the process ended. Code in C that also holds Python's global lock keeps this thread
from running too; only the watchdog of the boards helps against that.

Pauses of the whole process are not its concern: it counts its own wake-ups, not seconds, and the loop refuses what is
too late.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from granite.rt.process.posix_signals import StopSignals

#: wake-ups in the time limit
_CHECKS = 4
#: how often, and how long apart [s], the loop's thread is interrupted before the watchdog gives up
_INTERRUPTIONS, _PAUSE = 30, 0.1


class Watchdog:
    """Watches the thread that enters it.

    Parameters
    ----------
    limit_s
        Longest time without progress [s].
    progress
        Number of ticks so far.
    stop
        Stops every actuator.
    signals
        Interrupts the loop's thread.
    give_up
        Called when the loop's thread can't be interrupted; ends the process.
    """

    def __init__(
        self,
        limit_s: float,
        progress: Callable[[], int],
        stop: Callable[[], None],
        signals: StopSignals,
        give_up: Callable[[], None],
    ) -> None:
        self._limit, self._progress, self._stop = limit_s, progress, stop
        self._signals, self._give_up = signals, give_up
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._watched = 0
        #: where the loop's thread was when the watchdog fired; empty before
        self.fired_at = ""

    def __enter__(self) -> Watchdog:
        """Watch this thread from now on; the new thread has its priority and its processor."""
        self._watched = threading.get_ident()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """No more ticks follow."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        seen, unchanged = -1, 0
        while unchanged < _CHECKS:
            if self._over.wait(self._limit / _CHECKS):
                return
            now = self._progress()
            unchanged = unchanged + 1 if now == seen else 0
            seen = now
        self.fired_at = self._line_of_code() or "an unknown line"
        self._stop()
        for _ in range(_INTERRUPTIONS):
            self._signals.interrupt()
            if self._over.wait(_PAUSE):
                return
        self._give_up()

    def _line_of_code(self) -> str:
        """File, line and function in which the loop's thread is."""
        frame = sys._current_frames().get(self._watched)
        if frame is None:
            return ""
        line = traceback.extract_stack(frame, limit=1)[-1]
        return f"{Path(line.filename).name}:{line.lineno}, in {line.name}"
