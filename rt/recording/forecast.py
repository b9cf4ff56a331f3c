"""Rows, size and time of a run before it starts: one that no disk can hold is refused, a long one announced."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Callable
from math import inf
from pathlib import Path

from granite.config.errors import InputError
from granite.config.testbed import Testbed
from granite.logs.channels import Channels

#: rows of a long run: three quarters of an hour at 200 Hz
LONG = 500_000
#: ticks that are timed to forecast the rest
_TRIED = 200
#: bytes of a message beside its numbers, and of a number after compression: within 25 % of the logs of the presets
_OF_MESSAGE, _OF_NUMBER = 20.0, 3.2


def log_bytes(channels: Channels, ticks: int) -> float:
    """About the size of a log [bytes]."""
    return ticks * (_OF_MESSAGE * len(channels.topics) + _OF_NUMBER * channels.width)


def refuse_too_large_a_log(bed: Testbed, channels: Channels, ticks: int, log: Path) -> None:
    """Raise where the disk of the log, or a limit of this process, is too small for it."""
    try:
        disk, where = shutil.disk_usage(log.parent), f"the disk of '{log}' has"
    except OSError:  # no such directory: another sentence follows
        return
    free = disk.free if disk.total else inf  # a virtual file system, such as /proc, counts no space
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit != resource.RLIM_INFINITY and limit < free:
        free, where = limit, "ulimit -f allows"
    _refuse_beyond(bed, "its log needs about", log_bytes(channels, ticks), free, where)


def refuse_too_many_rows(bed: Testbed, channels: Channels, ticks: int) -> None:
    """Raise where the memory of this machine is too small for the rows of a run without a log."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    _refuse_beyond(bed, "its rows need", 8.0 * channels.width * ticks, whole, "this machine has")


def announcement(bed: Testbed, channels: Channels, ticks: int, time_per_tick: Callable[[int], float]) -> str | None:
    """What a long run will take, with the time of a tick measured on some of them [s]; None of a short run."""
    if ticks <= LONG:
        return None
    seconds = ticks * time_per_tick(_TRIED)
    return f"a long run: {ticks} rows, a log of about {_size(log_bytes(channels, ticks))}, about {_span(seconds)}"


def _refuse_beyond(bed: Testbed, what: str, needed: float, available: float, where: str) -> None:
    if needed > available:
        duration = bed.loop.duration_s
        raise InputError(
            f"{what} {_size(needed)}, {where} {_size(available)}",
            file=bed.name,
            key="loop.duration_s",
            value=duration,
            expected=f"at most about {duration * available / needed:.3g}",
        )


def _size(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.{1 if number < 100 else 0}f} TB"


def _span(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"
