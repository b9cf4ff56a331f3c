"""Threads beside a loop stay off its core, as far as there is another one: its caches stay warm.

A core that shares the units of a loop's core, as far as the system says so, is left to the loop, too. A thread that is
woken at the same rate goes on where it was, so this helps also where `loop.cpu` names no core.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path


class OtherCores:
    """The cores that this process may use, and those of them that it leaves to loops."""

    def __init__(self) -> None:
        self._all = os.sched_getaffinity(0)
        self._used = self._all

    def leave(self, loops: Iterable[int], threads: Iterable[int]) -> None:
        """Let the threads, by their numbers, run where none of the loops does, by their processes."""
        used = away_from({core for loop in loops if (core := core_of(loop)) is not None}, self._all)
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


def away_from(cores: AbstractSet[int], usable: AbstractSet[int]) -> set[int]:
    """The usable cores without these and their siblings, as far as any are left."""
    return set(usable - set().union(*map(siblings_of, cores)) or usable - cores or usable)


def siblings_of(core: int) -> set[int]:
    """The cores that share the units of one, and that one."""
    try:
        text = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").read_text()
    except OSError:
        return {core}
    ends = [[int(end) for end in part.split("-")] for part in text.strip().split(",")]
    return {core}.union(*(range(part[0], part[-1] + 1) for part in ends))


def core_of(process: int) -> int | None:
    """The core on which its first thread ran last; None where it has ended."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[36])
    except (OSError, IndexError, ValueError):
        return None


def threads_of(*processes: int) -> list[int]:
    """The threads of some processes, by their numbers."""
    return [int(task.name) for process in processes for task in Path(f"/proc/{process}/task").glob("[0-9]*")]
