"""Processes that make runs for this one: the same answers in the same order, also when one of them is killed."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, Protocol, TypeVar

from granite.config.errors import GraniteError, InputError

Answer = TypeVar("Answer")
#: times that work is given to new processes after one was killed
ATTEMPTS = 3
_PR_SET_PDEATHSIG = 1  #: of Linux, prctl(2)


class Workers(Protocol):
    """Makes runs somewhere."""

    def answers(self, work: Callable[[Any], Answer], cases: Sequence[Any]) -> Iterator[Answer]:
        """The answer to each case, in the order of the cases."""
        ...


@contextmanager
def local_workers(processes: int | None = None) -> Iterator[Workers]:
    """So many processes, None: one for each processor; a single one is this process itself."""
    n = processes if processes is not None else len(os.sched_getaffinity(0))
    if n < 1:
        raise InputError(key="processes", value=processes, expected="a whole number of at least 1")
    if n == 1:
        yield _ThisProcess()
        return
    local = _Processes(n)
    try:
        yield local
    finally:
        local.close()


class _ThisProcess:
    def answers(self, work: Callable[[Any], Answer], cases: Sequence[Any]) -> Iterator[Answer]:
        """One after the other."""
        return map(work, cases)


class _Processes:
    """Processes of this machine."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        _start_tracker()
        # A forked process would share the locks of this one's threads.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._n, context, initializer=_follow_the_caller)

    def answers(self, work: Callable[[Any], Answer], cases: Sequence[Any]) -> Iterator[Answer]:
        """All at once; those that a killed worker left are given to new ones."""
        done = 0
        for attempt in range(ATTEMPTS):
            try:
                # Not by map(): it cancels what is left, and the pool's thread fails at cancelled work when it ends.
                for future in [self._pool.submit(work, case) for case in cases[done:]]:
                    yield future.result()
                    done += 1
                return
            except BrokenProcessPool:
                self._pool.shutdown(wait=True)
                self._pool = self._new_pool()
                if attempt == ATTEMPTS - 1:
                    raise GraniteError(f"a worker process was killed {ATTEMPTS} times in the same round") from None

    def close(self) -> None:
        """End the processes; runs that are under way are lost."""
        _start_tracker()
        for process in list((self._pool._processes or {}).values()):
            process.terminate()
        self._pool.shutdown(wait=True)  # a thread of the pool that is left uses pipes that the interpreter closes


def _start_tracker() -> None:
    """Start the process that multiprocessing keeps for semaphores, where it does not run, without the terminal.

    It reports there what a killed process left, and where it was killed itself, its successor prints a traceback for
    each semaphore that it does not know.
    """
    terminal, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            resource_tracker.ensure_running()
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(nowhere)


def _follow_the_caller() -> None:
    """Ctrl-C on the terminal is for the caller, which ends the work; and nothing is left when the caller is killed."""
    os.setpgrp()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
