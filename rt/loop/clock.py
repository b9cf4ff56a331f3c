"""Two clocks with one contract: virtual time, which jumps to each deadline, and real time with absolute deadlines.

Times are seconds since `start`. Only the loop holds a clock.
"""

from __future__ import annotations

import ctypes
import errno
import time
from functools import partial
from typing import Protocol

from granite.config.errors import GraniteError

_TIMER_ABSTIME = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_now_ns = partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME)


class Clock(Protocol):
    """The loop's source of time."""

    #: the clock goes on by itself
    is_real: bool

    def start(self) -> None:
        """Now is zero."""

    def wait_until(self, deadline: float) -> float:
        """Return at the deadline, or at once if it has passed; the delay of the return behind it [s]."""

    def now(self) -> float:
        """Time since the start [s]."""


class VirtualClock:
    """Simulated time: every deadline is met exactly, as fast as the machine runs."""

    is_real = False

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


class RealClock:
    """The time since boot. Sleeps to an absolute deadline, so that no error accumulates; may busy-wait the end.

    Unlike the monotonic clock it counts while the machine is suspended, so that a loop sees that it is late.
    """

    is_real = True

    def __init__(self, spin: float = 0.0) -> None:
        self._spin_ns = round(spin * 1e9)
        self._zero_ns = 0
        self._spec = _TimeSpec()
        self._sleep = _LIBC.clock_nanosleep
        self._arguments = (time.CLOCK_BOOTTIME, _TIMER_ABSTIME, ctypes.byref(self._spec), None)

    def start(self) -> None:
        """Now is zero."""
        self._zero_ns = _now_ns()

    def wait_until(self, deadline: float) -> float:
        """Sleep to the deadline; a signal's handler runs and the sleep continues."""
        deadline_ns = self._zero_ns + round(deadline * 1e9)
        wake_ns = deadline_ns - self._spin_ns
        if _now_ns() < wake_ns:
            self._spec.seconds, self._spec.nanoseconds = divmod(wake_ns, 1_000_000_000)
            while self._sleep(*self._arguments) == errno.EINTR:
                pass
        while (now := _now_ns()) < deadline_ns:
            pass
        return (now - deadline_ns) * 1e-9

    def now(self) -> float:
        """Time since the start [s]."""
        return (_now_ns() - self._zero_ns) * 1e-9


class TooLateError(GraniteError):
    """A tick was too late for its command, or held it for too long: after a pause nothing old is acted upon."""


def refuse_late(late_s: float, limit_s: float) -> None:
    """Raise `TooLateError` where a tick is later than the limit."""
    if late_s > limit_s:
        raise TooLateError(f"{late_s:.3g} s after its tick was due, limit {limit_s:g} s")
