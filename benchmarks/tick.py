"""The whole tick and its steps, paced by the real clock: caches are cold there, as they are on a robot.

The simulated plant moves between the ticks, as a real one does; its time is in `virtual_time`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.config.records import STEPS
from granite.rt.clock import RealClock
from granite.rt.memory import Memory
from granite.rt.realtime import real_time
from granite.rt.run import Run


def measure() -> Iterator[Result]:
    # A machine that is busy with others does not end the run.
    limits = ["loop.longest_lateness_s=1.0", "loop.watchdog_s=1.0"]
    bed = load("free-flyer", ["loop.period_s=0.001", "loop.duration_s=15.0", *limits])
    run = Run(bed)
    memory = Memory(run.channels, run.ticks)
    with real_time(bed.loop):
        run.execute(RealClock(), memory)
    steps = memory.rows[100:, run.channels.place("/timing", "steps")] * 1e6
    whole = steps.sum(axis=1)
    rate = f"free-flyer at {1 / bed.loop.period_s:g} Hz, simulated devices"
    median, p99 = np.percentile(whole, [50, 99])
    yield Result(f"whole tick, median ({rate})", "us", median, None, "", "at most 100 us", bool(median <= 100))
    yield Result(f"whole tick, 99 % ({rate})", "us", p99, None, "", "at most 250 us", bool(p99 <= 250))
    for i, step in enumerate(STEPS):
        yield Result(f"  {step}, median", "us", float(np.median(steps[:, i])), None, "", "", None)
