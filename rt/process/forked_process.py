"""A process forked from this one, which talks to it in lines of text.

A fork has everything imported and loaded already: a new interpreter would take a third of a second of processor time to
get there. It is to be started early, before this process has threads, ports or real-time priority.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NoReturn, TextIO

#: (lines from this process, lines to it)
Work = Callable[[TextIO, TextIO], None]


class ForkedProcess:
    """Runs `work` in a process and session of its own.

    Parameters
    ----------
    work
        What it does; it ends with code 0, or 1 where an exception was raised, which is printed.
    keep
        File descriptors that stay open in it, beside the three standard ones.
    """

    def __init__(self, work: Work, keep: Iterable[int] = ()) -> None:
        there_reads, here_writes = _pipe()
        here_reads, there_writes = _pipe()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, or not there
                stream.flush()
        #: None while it runs; negative: ended by that signal
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _run(work, there_reads, there_writes, {*keep, there_reads, there_writes})
        os.close(there_reads)
        os.close(there_writes)
        self.stdin, self.stdout = os.fdopen(here_writes, "w"), os.fdopen(here_reads)

    def poll(self) -> int | None:
        """Its return code, or None while it runs."""
        if self.returncode is None:
            with suppress(ChildProcessError):
                self._note(os.waitpid(self.pid, os.WNOHANG))
        return self.returncode

    def wait(self) -> int:
        """Its return code, once it has ended."""
        if self.returncode is None:
            self._note(os.waitpid(self.pid, 0))
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """End it at once."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def communicate(self, last: str, limit_s: float) -> str:
        """Send the last text, and return everything that it answers until it ends.

        Raises
        ------
        TimeoutError
            Where it has not ended in that time.
        """
        with suppress(BrokenPipeError):
            self.stdin.write(last)
            self.stdin.flush()
        with suppress(BrokenPipeError):
            self.stdin.close()
        answer, until = b"", time.monotonic() + limit_s
        descriptor = self.stdout.fileno()
        while True:
            if not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError(f"it did not end in {limit_s:g} s")
            received = os.read(descriptor, 65536)
            if not received:
                self.wait()
                return answer.decode()
            answer += received

    def _note(self, ended: tuple[int, int]) -> None:
        pid, status = ended
        if pid:
            self.returncode = os.waitstatus_to_exitcode(status)


def _pipe() -> tuple[int, int]:
    """Both ends of a pipe; not 0, 1 or 2, which are free where a standard stream is closed."""
    low = os.pipe()
    reads, writes = (fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3) for descriptor in low)
    for descriptor in low:
        os.close(descriptor)
    return reads, writes


def _run(work: Work, reads: int, writes: int, keep: set[int]) -> NoReturn:
    """The forked process: nothing of the other one is closed, flushed or cleaned up twice."""
    code = 1
    try:
        os.setsid()  # the other one alone handles Ctrl-C and a closed terminal
        signal.set_wakeup_fd(-1)
        # Not just closed: objects of the other process still own these numbers, and close them when they are collected
        # here. A number that was free again would by then be that of a file of this process.
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for descriptor in map(int, os.listdir("/proc/self/fd")):
            if descriptor > 2 and descriptor not in keep and descriptor != nothing:
                with suppress(OSError):
                    os.dup2(nothing, descriptor, inheritable=False)
        os.close(nothing)
        work(os.fdopen(reads), os.fdopen(writes, "w"))
        code = 0
    except BaseException:
        with suppress(OSError):
            traceback.print_exc()
            sys.stderr.flush()
    finally:
        os._exit(code)
