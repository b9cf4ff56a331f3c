"""Faults that are noticed outside the tick: recorder lost, disk full, operator channel lost.

A thread of ordinary priority asks the operating system a few times in a second, and hands each fault to the supervisor
when it appears. It says them on the terminal, too, and when the mode has changed. In real time only: a run in virtual
time does not depend on the machine.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from granite.config.reasons import Reason
from granite.config.run_modes import Request, RequestKind, RunMode, sentence_of

#: time between two looks [s]
PERIOD_S = 0.25
_MEGABYTE = 1e6


class RunWatch:
    """Looks while it is entered.

    Parameters
    ----------
    inbox
        Takes the reports: `Supervisor.own`.
    faults
        By reason, whether it is there.
    mode
        The mode of the run and its cause.
    say
        Called with a sentence when the mode has changed, or a fault was found.
    tell
        Called at each look: what else is to be told outside the tick.
    """

    def __init__(
        self,
        inbox: deque[Request],
        faults: Mapping[Reason, Callable[[], bool]],
        mode: Callable[[], tuple[RunMode, Reason]] = lambda: (RunMode.RUNNING, Reason.PASSED),
        say: Callable[[str], None] | None = None,
        tell: Callable[[], None] | None = None,
    ) -> None:
        self._inbox, self._faults, self._mode, self._say, self._tell = inbox, dict(faults), mode, say, tell
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="run watch", daemon=True)

    def __enter__(self) -> RunWatch:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        before = RunMode.RUNNING
        reported: set[Reason] = set()
        while not self._over.wait(PERIOD_S):
            mode, cause = self._mode()
            # The run itself says at its start that it is disarmed, also where nobody is told of the other modes.
            if self._say is not None and mode not in (before, RunMode.DISARMED):
                self._say(sentence_of(mode, cause))
            before = mode
            present = {reason for reason, is_there in self._faults.items() if is_there()}
            for reason in sorted(present - reported):
                self._inbox.append(Request(RequestKind.REPORT, argument=reason))
                if self._say is not None:
                    self._say(reason.text)
            reported = present  # one that went away, as of a channel that hung, may come again
            if self._tell is not None:
                self._tell()


def disk_is_full(log: Path, least_mb: float) -> bool:
    """Whether less is free on the disk of a log; False where the system does not say."""
    with contextlib.suppress(OSError):
        disk = os.statvfs(log.absolute().parent)
        return disk.f_bavail * disk.f_frsize < least_mb * _MEGABYTE
    return False
