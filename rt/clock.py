"""Two clocks with one contract: virtual time, which jumps to each deadline, and real time with absolute deadlines.

Times are seconds since `start`. Only the loop holds a clock.
"""

from __future__ import annotations

import ctypes
import errno
import time
from typing import Protocol


class Clock(Protocol):
    """The loop's source of time."""

    def start(self) -> None:
        """Now is zero."""

    def wait_until(self, deadline: float) -> float:
        """Return at the deadline, or at once if it has passed; the delay of the return behind it [s]."""

    def now(self) -> float:
        """Time since the start [s]."""


class VirtualClock:
    """Simulated time: every deadline is met exactly, as fast as the machine runs."""

    def __init__(self) -> None:
        self._now = 0.0

    def start(self) -> None:
        """Now is zero."""
        self._now = 0.0

    def wait_until(self, deadline: float) -> float:
        """The deadline is now."""
        self._now = deadline
        return 0.0

    def now(self) -> float:
        """The last deadline."""
        return self._now


class _TimeSpec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


_TIMER_ABSTIME = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class RealClock:
    """The monotonic clock. Sleeps to an absolute deadline, so that no error accumulates; may busy-wait the end."""

    def __init__(self, spin: float = 0.0) -> None:
        self._spin_ns = round(spin * 1e9)
        self._zero_ns = 0
        self._spec = _TimeSpec()
        self._sleep = _LIBC.clock_nanosleep
        self._arguments = (time.CLOCK_MONOTONIC, _TIMER_ABSTIME, ctypes.byref(self._spec), None)

    def start(self) -> None:
        """Now is zero."""
        self._zero_ns = time.monotonic_ns()

    def wait_until(self, deadline: float) -> float:
        """Sleep to the deadline; a signal's handler runs and the sleep continues."""
        deadline_ns = self._zero_ns + round(deadline * 1e9)
        wake_ns = deadline_ns - self._spin_ns
        if time.monotonic_ns() < wake_ns:
            self._spec.seconds, self._spec.nanoseconds = divmod(wake_ns, 1_000_000_000)
            while self._sleep(*self._arguments) == errno.EINTR:
                pass
        while (now := time.monotonic_ns()) < deadline_ns:
            pass
        return (now - deadline_ns) * 1e-9

    def now(self) -> float:
        """Time since the start [s]."""
        return (time.monotonic_ns() - self._zero_ns) * 1e-9
