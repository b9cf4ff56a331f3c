"""What is done to the processes of a rehearsal."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from granite.config.errors import InputError
from granite.config.testbed import Testbed as Bed
from granite.rt.operator.client import Operator
from granite.rt.operator.keys import loop_keys
from granite.rt.rehearsal.rehearsal import Rehearsal
from tests.support.killed_boards import children_of
from tests.support.operator_clients import free_address

#: of free space on a disk, and more than that is taken [bytes]
MARGIN, TAKEN = 2_000_000_000, 4_000_000_000
_MEGABYTE = 1e6


class RehearsedRun(NamedTuple):
    """A rehearsal that runs."""

    bed: Bed
    outside: Rehearsal
    process: multiprocessing.process.BaseProcess
    log: Path

    @property
    def t(self) -> float:
        """Time of its plant [s]."""
        return self.outside.truth(0.0).t

    @property
    def pid(self) -> int:
        """Of the loop."""
        assert self.process.pid is not None
        return self.process.pid


@contextlib.contextmanager
def operator_environment(folder: Path) -> Iterator[dict[str, Any]]:
    """Keys of an operator for the loop, and the changes by which it listens to them."""
    loop_keys(folder / "keys")
    before = os.environ.get("GRANITE_KEYS")
    os.environ["GRANITE_KEYS"] = str(folder / "keys")
    try:
        yield {"operator.address": free_address()}
    finally:
        os.environ.pop("GRANITE_KEYS")
        if before is not None:
            os.environ["GRANITE_KEYS"] = before


def start_as_operator(bed: Bed) -> None:
    """Arm and start the run that waits for an operator."""
    with Operator(bed.operator.address) as operator:
        for command in ("arm", "start"):
            end = time.monotonic() + 30
            while time.monotonic() < end:
                with contextlib.suppress(InputError):
                    if operator.ask(command)["ok"]:
                        break
                time.sleep(0.1)


def least_free_mb(folder: Path) -> float:
    """A limit that is kept until `fill the disk` is done."""
    return (shutil.disk_usage(folder).free - MARGIN) / _MEGABYTE


def _signal(number: signal.Signals) -> Callable[[RehearsedRun], None]:
    return lambda run: os.kill(run.pid, number)


def _suspend(process_of: Callable[[RehearsedRun], int], for_s: float) -> Callable[[RehearsedRun], None]:
    def suspend(run: RehearsedRun) -> None:
        pid = process_of(run)
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(for_s, os.kill, [pid, signal.SIGCONT]).start()

    return suspend


def _suspend_for_moments(run: RehearsedRun) -> None:
    """So often, and so short, that it is a burst of overruns and nothing else."""
    for _ in range(40):
        os.kill(run.pid, signal.SIGSTOP)
        time.sleep(0.008)
        os.kill(run.pid, signal.SIGCONT)
        time.sleep(0.008)


def _kill_recorder(run: RehearsedRun) -> None:
    """The only process that a rehearsed loop starts."""
    os.kill(children_of(run.pid)[0], signal.SIGKILL)


def _kill_operator_channel(run: RehearsedRun) -> None:
    for child in children_of(run.pid):
        if "granite.rt.operator.process" in Path(f"/proc/{child}/cmdline").read_text():
            os.kill(child, signal.SIGKILL)
    threading.Timer(5.0, os.kill, [run.pid, signal.SIGINT]).start()  # nobody else can end the hold


def _fill_disk(run: RehearsedRun) -> None:
    filler = run.log.with_suffix(".filler")
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, TAKEN)
    threading.Timer(1.0, filler.unlink).start()


def _board_pid(run: RehearsedRun) -> int:
    return next(iter(run.outside.boards.values())).pid


def _kill_plant(run: RehearsedRun) -> None:
    assert run.outside.plant is not None
    run.outside.plant.kill()


DEEDS: dict[str, Callable[[RehearsedRun], None]] = {
    "press the board's emergency stop": lambda run: run.outside.press_emergency_stop(),
    "kill the board": lambda run: os.kill(_board_pid(run), signal.SIGKILL),
    "suspend the board": _suspend(_board_pid, 1.0),
    "kill the plant": _kill_plant,
    "kill the recorder": _kill_recorder,
    "fill the disk": _fill_disk,
    "kill the operator channel": _kill_operator_channel,
    "suspend the loop": _suspend(lambda run: run.pid, 0.3),
    "suspend the loop for a moment": _suspend(lambda run: run.pid, 0.02),
    "suspend the loop for moments": _suspend_for_moments,
    "interrupt the loop": _signal(signal.SIGINT),
    "press Ctrl-backslash": _signal(signal.SIGQUIT),
}
