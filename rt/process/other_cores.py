"""Threads beside a loop stay off its core, as far as there is another one: its caches stay warm.

A thread that is woken at the same rate goes on where it was, so this helps also where `loop.cpu` names no core.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path


class OtherCores:
    """The cores that this process may use, and those of them that it leaves to loops."""

    def __init__(self) -> None:
        self._all = os.sched_getaffinity(0)
        self._used = self._all

    def leave(self, loops: Iterable[int], threads: Iterable[int]) -> None:
        """Let the threads, by their numbers, run where none of the loops does, by their processes."""
        used = self._all - {core for loop in loops if (core := core_of(loop)) is not None} or self._all
        if used != self._used:
            self._used = used
            for thread in threads:
                with contextlib.suppress(OSError):  # it has ended
                    os.sched_setaffinity(thread, used)

    @contextlib.contextmanager
    def all_of_them(self) -> Iterator[None]:
        """For a process that this thread starts, and that must not inherit what it leaves."""
        os.sched_setaffinity(0, self._all)
        try:
            yield
        finally:
            os.sched_setaffinity(0, self._used)


def core_of(process: int) -> int | None:
    """The core on which its first thread ran last; None where it has ended."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[36])
    except (OSError, IndexError, ValueError):
        return None


def threads_of(*processes: int) -> list[int]:
    """The threads of some processes, by their numbers."""
    return [int(task.name) for process in processes for task in Path(f"/proc/{process}/task").glob("[0-9]*")]
