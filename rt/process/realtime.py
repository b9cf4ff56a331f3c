"""Real-time settings of the process: priority, locked memory, one processor, short wake-ups, no garbage collection.

Each is used where the system allows it; a refusal is reported, never fatal and never silent.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from granite.config.loop import LoopTable

_LIBC = ctypes.CDLL(None, use_errno=True)
_MCL_CURRENT, _MCL_FUTURE = 1, 2
LATENCY_FILE = Path("/dev/cpu_dma_latency")


@contextlib.contextmanager
def real_time(loop: LoopTable, enabled: bool = True) -> Iterator[dict[str, str]]:
    """Request every configured setting; yields the answers by name. All are restored on exit."""
    report: dict[str, str] = {}
    with contextlib.ExitStack() as undo:
        if enabled:
            for name, wanted, ask in (
                ("priority", loop.priority > 0, lambda: _priority(loop.priority, undo)),
                ("cpu", loop.cpu is not None, lambda: _affinity(loop.cpu or 0, undo)),
                ("lock_memory", loop.lock_memory, lambda: _lock_memory(undo)),
                ("hold_cpu_awake", loop.hold_cpu_awake, lambda: _hold_awake(undo)),
            ):
                report[name] = _answer(ask) if wanted else "not wanted"
        if loop.freeze_garbage:
            _freeze_garbage(undo)
            report["freeze_garbage"] = "in force"
        yield report


def _answer(ask: object) -> str:
    try:
        ask()  # type: ignore[operator]
    except (OSError, ValueError) as refusal:
        return f"refused: {refusal}"
    return "in force"


def _priority(priority: int, undo: contextlib.ExitStack) -> None:
    before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    undo.callback(os.sched_setscheduler, 0, before, parameters)


def _affinity(cpu: int, undo: contextlib.ExitStack) -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    undo.callback(os.sched_setaffinity, 0, before)


def _lock_memory(undo: contextlib.ExitStack) -> None:
    if _LIBC.mlockall(_MCL_CURRENT | _MCL_FUTURE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    undo.callback(_LIBC.munlockall)


def _hold_awake(undo: contextlib.ExitStack) -> None:
    """Zero microseconds of wake-up latency for as long as the file is open."""
    file = os.open(LATENCY_FILE, os.O_WRONLY)
    undo.callback(os.close, file)
    os.write(file, struct.pack("i", 0))


def _freeze_garbage(undo: contextlib.ExitStack) -> None:
    """A full collection takes tens of milliseconds: existing objects are frozen, and the collector is switched off."""
    gc.collect()
    gc.freeze()
    gc.disable()
    undo.callback(gc.unfreeze)
    undo.callback(gc.enable)
