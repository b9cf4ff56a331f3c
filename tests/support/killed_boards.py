"""A rehearsed run in a process of its own, which tests kill, suspend or deprive of its board, plant or recorder."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import granite
from granite.logs.run_summary import RunSummary
from granite.rt.rehearsal.rehearsal import Rehearsal
from granite.rt.run import Run
from tests.support.waiting import until

#: a move that needs motors and thrusters all the time
MOVE = [
    {"duration_s": 2.5, "target": {"shoulder_rad": s, "elbow_rad": e, "base_x_m": x, "base_y_m": 0.8}}
    for s, e, x in ((-0.6, 1.9, 1.12), (0.7, -0.6, 1.0)) * 20
]
#: a loaded machine delays bytes on their way
PATIENT = {
    "safety.age_s.joint_sensors": 1.0,
    "behaviour.waypoints": MOVE,
    "behaviour.check_moves": False,
    "loop.duration_s": 60.0,
}


class Running:
    """A loop in another process, which records."""

    def __init__(self, bed: granite.Testbed, outside: Rehearsal, log: Path) -> None:
        context = multiprocessing.get_context("fork")
        self.summary_end, there = context.Pipe(duplex=False)
        self.process = context.Process(target=_run, args=(bed, outside, log, there), daemon=False)
        self.log = log
        self.process.start()
        there.close()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def summary(self, patience_s: float = 30.0) -> RunSummary:
        """How the run ended by itself."""
        assert self.summary_end.poll(patience_s), "the run did not end"
        received: RunSummary = self.summary_end.recv()
        self.process.join(patience_s)
        return received


def _run(bed: granite.Testbed, outside: Rehearsal, log: Path, there: Connection) -> None:
    there.send(Run(bed, rehearsal=outside).record(log, realtime=True, overwrite=True))
    there.close()
    os._exit(0)  # without the clean-up of the tests' process


@contextlib.contextmanager
def running(bed: granite.Testbed, outside: Rehearsal, log: Path) -> Iterator[Running]:
    """A run whose board is armed and acts."""
    made = Running(bed, outside, log)
    try:
        until(lambda: not outside.outputs()[0, 1] or not made.process.is_alive(), 60)
        assert made.process.is_alive(), made.summary()
        yield made
    finally:
        if made.process.is_alive():
            made.process.kill()
        made.process.join()


def waited_us(pid: int) -> int:
    """For how long a process was ready to run and the system did not let it, so far."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) // 1000


def children_of(pid: int) -> list[int]:
    """The processes that a run started: of a rehearsed one without an operator, its recorder alone."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def child_of(pid: int, what: str) -> int:
    """The process that a run started, by a word of its command."""
    for child in children_of(pid):
        if what in Path(f"/proc/{child}/cmdline").read_text():
            return child
    raise AssertionError(f"no process {what} of {pid}")
