"""The real-time loop at 1 kHz beside cyclictest at the same priority, in turns."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.rt.loop.clock import RealClock
from granite.rt.process.realtime import real_time
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run

ROUNDS, SECONDS = 3, 5
CHANGES = [
    "loop.period_s=0.001",
    "simulation.physics_step_s=0.001",
    f"loop.duration_s={SECONDS}",
    "loop.spin_s=0.0002",
    "loop.overrun=catch_up",  # no tick is dropped, so that the mean rate is that of the clock
    "loop.longest_lateness_s=1.0",  # and a machine that is busy with others does not end the run
    "loop.watchdog_s=1.0",
]


def measure() -> Iterator[Result]:
    bed = load("free-flyer", CHANGES)
    cyclictest = shutil.which("cyclictest")
    delays, theirs, off, overruns = [], [], [], 0
    for _ in range(ROUNDS):
        if cyclictest:
            theirs.append(_cyclictest(cyclictest, bed.loop.priority))
        run = Run(bed)
        memory = Memory(run.channels, run.ticks)
        with real_time(bed.loop):
            outcome = run.execute(RealClock(bed.loop.spin_s), memory)
        overruns += outcome.overruns
        delay, due = (memory.rows[:, run.channels.column("/timing", key)] for key in ("delay_s", "scheduled_s"))
        delays.append(delay)
        # Ticks that began over the time they took.
        began, ended = due[0] + delay[0], due[-1] + delay[-1]
        off.append(abs((len(due) - 1) * bed.loop.period_s / (ended - began) - 1) * 100)
    worst = max(off)
    yield Result("real-time loop, mean rate off 1 kHz", "%", worst, None, "", "at most 0.01 %", worst <= 0.01)
    p99 = float(np.percentile(np.concatenate(delays), 99) * 1e6)
    peer = float(np.median(theirs)) if theirs else None
    yield Result(
        "real-time loop, wake-up delay, 99 %", "us", p99, peer, "cyclictest" if peer else "cyclictest is not installed",
        "no worse than cyclictest", None if peer is None else p99 <= peer,
    )  # fmt: skip
    yield Result(f"real-time loop, overruns in {ROUNDS * SECONDS} s", "", overruns, None, "", "", None)


def _cyclictest(program: str, priority: int) -> float:
    """99th percentile of its wake-up delay [us]."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "histogram.json"
        subprocess.run(
            [program, "--mlockall", f"--priority={priority}", "--interval=1000", f"--duration={SECONDS}", "--quiet",
             "--histogram=20000", "--threads=1", f"--json={found}"],
            check=True, capture_output=True,
        )  # fmt: skip
        histogram = json.loads(found.read_text())["thread"]["0"]["histogram"]
    micros = np.array([int(k) for k in histogram])
    counts = np.array(list(histogram.values()))
    order = np.argsort(micros)
    cumulative = np.cumsum(counts[order])
    return float(micros[order][np.searchsorted(cumulative, 0.99 * cumulative[-1])])
