"""What the live view costs: processor time of the recorder and the tick, with a client and without, in turns."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.logs.log import read_log
from granite.rt.loop.loop import Loop
from granite.rt.run import Run

_ROUNDS, _SECONDS = 3, 15.0
#: of a run, from here to its end: not its start, nor its last rows [s]
_FROM, _BEFORE_END = 4.0, 1.0


def measure() -> Iterator[Result]:
    alone: list[tuple[float, np.ndarray]] = []
    seen: list[tuple[float, np.ndarray]] = []
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(_ROUNDS):
            alone.append(_run(Path(folder), None))
            port = _free_port()
            command = [sys.executable, "-m", "benchmarks.live_client", str(port)]
            client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            seen.append(_run(Path(folder), port, client.pid))
            rates.append(int(client.communicate()[0]) / _SECONDS)
    ours, peer = (100 * float(np.median([part for part, _ in runs])) for runs in (seen, alone))
    goal = "below 5 %"
    yield Result("recorder's process with a live view, of a core", "%", ours, peer, "without", goal, ours < 5.0)
    p99 = [float(np.median([np.percentile(ticks, 99) for _, ticks in runs])) for runs in (seen, alone)]
    within = p99[0] <= 1.1 * p99[1]
    yield Result("tick with a live view, 99 %", "us", *p99, "without", "within 10 %", within)
    yield Result("live view, scenes a second", "1/s", float(np.median(rates)), None, "", "", None)


def _run(folder: Path, port: int | None, client: int = 0) -> tuple[float, np.ndarray]:
    """Part of a core that the recorder takes, and durations of the ticks [us]."""
    limits = ["loop.longest_lateness_s=1.0", "loop.watchdog_s=1.0"]
    spent: list[float] = []
    run = _WatchedRun(load("free-flyer", [f"loop.duration_s={_SECONDS}", *limits]))
    run.watch = threading.Thread(target=_watch, args=(client, spent))
    path = folder / f"{time.monotonic_ns()}.mcap"  # never the log of another run
    summary = run.record(path, realtime=True, live=port)
    run.watch.join()
    if summary["log_failure"] is not None:
        raise RuntimeError(summary["log_failure"])
    log = read_log(path)
    steps = log.rows[round(1.0 / log.bed.loop.period_s) :, log.channels.columns("/timing", "steps")]
    return spent[0], np.asarray(steps.sum(axis=1)) * 1e6


class _WatchedRun(Run):
    """A run that starts a thread with its loop: the recorder is ready then."""

    watch: threading.Thread

    def loop(self, *arguments: Any, **more: Any) -> Loop:
        self.watch.start()
        return super().loop(*arguments, **more)


def _watch(client: int, spent: list[float]) -> None:
    """Look twice at the processor time of the only other child of this process, the recorder."""
    time.sleep(_FROM)
    here = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    (recorder,) = (int(pid) for pid in here.read_text().split() if int(pid) != client)
    before, began = _processor_time(recorder), time.monotonic()
    time.sleep(_SECONDS - _FROM - _BEFORE_END)
    spent.append((_processor_time(recorder) - before) / (time.monotonic() - began))


def _processor_time(process: int) -> float:
    """Of all its threads [s], by the scheduler: /proc/PID/stat counts by samples, which misjudges short work."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) * 1e-9


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
