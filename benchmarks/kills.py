"""Kills of loop and recorder at random moments, in virtual and in real time: what the log has afterwards.

For each: whether the log can be read and is complete, how the run ended, and the loss, which is the time from the first
row that is not in the log to the kill. The time of a row is that at which the loop put it into the ring.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.result import Result
from granite.config.errors import InputError
from granite.logs.log import read_log
from tests.support.waiting import is_alive

#: what is promised: rows older than this are in the log, whoever is killed [s]
PROMISE_S = 1.0
_MOST_ROWS = 2_000_000
_LIMIT_S = 120.0

#: a run whose rows leave their time in a file, which stays when the process is killed
_RUN = """
import sys, time
import numpy as np
import granite
from granite.rt import run
notes = np.memmap(sys.argv[2], np.float64, "r+")
class Recorder(run.Recorder):
    def record(self, row):
        n = int(notes[0])
        notes[n + 1] = time.monotonic()
        lost = super().record(row)
        notes[0] = n + 1
        return lost
run.Recorder = Recorder
start = Recorder.start
def tell(*arguments, **options):
    recorder = start(*arguments, **options)
    print(recorder.pid, flush=True)
    return recorder
Recorder.start = tell
loop = {"loop.duration_s": 3600.0, "loop.priority": 0, "loop.longest_lateness_s": 3.0, "loop.watchdog_s": 3.0}
granite.Run(granite.load("free-flyer", loop)).record(sys.argv[1], realtime=sys.argv[3] == "real")
"""


@dataclass(frozen=True)
class Kill:
    """Whom to kill, by which signals one after the other, and the ends that are right."""

    victims: str  #: loop, recorder or both
    signals: tuple[signal.Signals, ...]
    ends: tuple[str | None, ...]  #: in the log's summary; None where the recorder is killed before it writes one

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.victims}, {' '.join(number.name for number in self.signals)}"


KILL, TERM, HUP = signal.SIGKILL, signal.SIGTERM, signal.SIGHUP
STOP, CONT = signal.SIGSTOP, signal.SIGCONT
KILLS = (
    Kill("loop", (KILL,), ("loop_died",)),
    Kill("recorder", (KILL,), (None,)),
    Kill("both", (KILL,), (None,)),
    Kill("loop", (TERM,), ("operator_stop",)),
    Kill("loop", (HUP,), ("operator_stop",)),
    Kill("recorder", (TERM,), ("operator_stop",)),
    Kill("both", (TERM,), ("operator_stop",)),
    Kill("loop", (STOP, KILL), ("loop_died",)),
    Kill("both", (STOP, KILL), (None,)),
    Kill("recorder", (STOP, CONT), ("operator_stop",)),
    Kill("loop", (STOP, CONT), ("operator_stop", "too_late")),
)


@dataclass(frozen=True)
class KillOutcome:
    """The log after a kill."""

    kill: Kill
    mode: str
    readable: bool
    complete: bool
    ended: str | None
    rows: int
    loss_s: float


def kill_once(kill: Kill, mode: str, after_s: float, folder: Path) -> KillOutcome:
    """Start a run, kill after a time, and read the log."""
    log, notes_file = folder / "run.mcap", folder / "notes"
    with open(notes_file, "wb") as file:
        file.truncate(8 * _MOST_ROWS)
    notes = np.memmap(notes_file, np.float64, "r")
    command = [sys.executable, "-c", _RUN, str(log), str(notes_file), mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as loop:
        assert loop.stdout is not None
        recorder = int(loop.stdout.readline())
        try:
            _wait(lambda: notes[0] > 0)
            time.sleep(after_s)
            put, at = int(notes[0]), time.monotonic()
            for i, number in enumerate(kill.signals):
                time.sleep(0.3 if i else 0.0)
                for pid in {"loop": (loop.pid,), "recorder": (recorder,), "both": (recorder, loop.pid)}[kill.victims]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
            if kill.victims == "recorder" or CONT in kill.signals:
                time.sleep(0.3)
                loop.send_signal(TERM)
            loop.wait(_LIMIT_S)
            _wait(lambda: not is_alive(recorder))
        finally:
            loop.kill()
    try:
        recorded = read_log(log)
    except InputError:
        return KillOutcome(kill, mode, False, False, None, 0, at - float(notes[1]))
    rows = len(recorded.rows)
    loss = at - float(notes[1 + rows]) if rows < put else 0.0
    ended = recorded.summary["ended"] if recorded.summary else None
    return KillOutcome(kill, mode, True, recorded.complete, ended, rows, loss)


def kill_many(n: int, seed: int) -> Iterator[KillOutcome]:
    """Kills in turn, at random moments in the first seconds of a run."""
    rng = random.Random(seed)
    for i in range(n):
        with tempfile.TemporaryDirectory() as folder:
            mode = ("real", "virtual")[i // len(KILLS) % 2]
            yield kill_once(KILLS[i % len(KILLS)], mode, rng.uniform(0.2, 3.0), Path(folder))


def is_right(found: KillOutcome) -> bool:
    """Whether the log is as promised; until the first flush there may be no row to read."""
    is_whole = found.complete == (None not in found.kill.ends) and found.ended in found.kill.ends
    return found.loss_s <= PROMISE_S and (is_whole or not found.readable)


def measure() -> Iterator[Result]:
    found = list(kill_many(50, seed=1))
    for victims in ("loop", "recorder", "both"):
        for mode in ("real", "virtual"):
            of = [each for each in found if (each.kill.victims, each.mode) == (victims, mode)]
            worst, right = max(each.loss_s for each in of), all(map(is_right, of))
            name = f"{len(of)} kills of {victims}, {mode} time, largest loss"
            yield Result(name, "s", worst, None, "", f"at most {PROMISE_S:g} s, log as promised", right)


def _wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + _LIMIT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("a killed run did not end")
        time.sleep(0.005)
