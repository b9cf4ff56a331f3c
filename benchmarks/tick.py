"""The whole tick and its steps, paced by the real clock: caches are cold there, as they are on a robot.

The simulated plant moves between the ticks, as a real one does; its time is in `virtual_time`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.config.records import STEPS
from granite.rt.loop.clock import RealClock
from granite.rt.process.realtime import real_time
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run

#: testbed, its period [s], and the goals for the median and for 99 % of the ticks [us]
BEDS = (
    ("free-flyer", 0.001, 40.0, 120.0),
    ("fixed-dual-arm/carry", 0.005, 150.0, 350.0),
    ("two-arm-carry", 0.005, 150.0, 350.0),
    ("leap", 0.005, 150.0, 350.0),
)


def measure() -> Iterator[Result]:
    for bed, period_s, median_us, most_us in BEDS:
        yield from _measure(bed, period_s, median_us, most_us)


def _measure(name: str, period_s: float, median_us: float, most_us: float) -> Iterator[Result]:
    # A machine that is busy with others does not end the run.
    limits = ["loop.longest_lateness_s=1.0", "loop.watchdog_s=1.0"]
    bed = load(name, [f"loop.period_s={period_s}", "loop.duration_s=15.0", *limits])
    run = Run(bed)
    memory = Memory(run.channels, run.ticks)
    with real_time(bed.loop):
        run.execute(RealClock(), memory)
    steps = memory.rows[100:, run.channels.columns("/timing", "steps")] * 1e6
    whole = steps.sum(axis=1)
    rate = f"{name} at {1 / bed.loop.period_s:g} Hz, simulated devices"
    median, p99 = np.percentile(whole, [50, 99])
    goals = f"at most {median_us:g} us", f"at most {most_us:g} us"
    yield Result(f"whole tick, median ({rate})", "us", median, None, "", goals[0], bool(median <= median_us))
    yield Result(f"whole tick, 99 % ({rate})", "us", p99, None, "", goals[1], bool(p99 <= most_us))
    for i, step in enumerate(STEPS):
        yield Result(f"  {step}, median", "us", float(np.median(steps[:, i])), None, "", "", None)
