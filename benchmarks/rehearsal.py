"""The loop on its real drivers in a rehearsal, at 500 Hz and 1 kHz: rate, overruns, ages, latency, and the tick."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.config.records import STEPS
from granite.logs.latency import latencies
from granite.logs.log import Log
from granite.rt.process.realtime import real_time
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.rehearsal.rehearsal import rehearsal
from granite.rt.run import Run, describe

RATES, SECONDS = (500, 1000), 5.0
MEDIAN_US, P99_US = 200.0, 400.0


def measure() -> Iterator[Result]:
    if not shutil.which("cc"):
        print("rehearsal is left out: the program of the boards needs a C compiler")
        return
    for rate in RATES:
        yield from _at(rate)


def _at(rate: int) -> Iterator[Result]:
    period = 1 / rate
    changes = {
        "loop.period_s": period,
        "simulation.physics_step_s": period / 2,
        "loop.duration_s": SECONDS,
        "loop.longest_lateness_s": 1.0,  # a machine that is busy with others does not end the run
        "loop.watchdog_s": 1.0,
        "safety.age_s.joint_sensors": 1.0,
    }
    bed = load("free-flyer", changes)
    with rehearsal(bed, 1.0) as outside:
        run = Run(bed, rehearsal=outside)
        memory = Memory(run.channels, run.ticks)
        with real_time(bed.loop):
            outcome = run.execute(outside.clock(bed.loop.spin_s), memory)
    log = Log(bed, describe(bed, True), run.channels, memory.rows, (), {**run.ending(outcome), "ticks": 0}, True)
    timing = log["/timing"]
    began = timing["scheduled_s"] + timing["delay_s"]
    off = abs((began[-1] - began[0]) / (timing["scheduled_s"][-1] - timing["scheduled_s"][0]) - 1) * 100
    name = f"rehearsal at {rate} Hz"
    ended = f"ended by {outcome.reason.name.lower()}" if outcome.reason else ""
    yield Result(f"{name}, ticks of {run.ticks}", "", outcome.ticks, None, ended, "", None)
    yield Result(f"{name}, mean rate off", "%", off, None, "", "", None)
    yield Result(f"{name}, overruns", "", outcome.overruns, None, "", "", None)
    for sensor, found in latencies(log).items():
        for what, spread in (("age at the tick", found["age"]), ("to the applied command", found["to_command"])):
            for key, label in (("median_s", "median"), ("p99_s", "99 %")):
                yield Result(f"{name}, {sensor} {what}, {label}", "ms", spread[key] * 1e3, None, "", "", None)
    took = sum(timing[f"{step}_s"] for step in STEPS) * 1e6
    median, p99 = np.percentile(took, [50, 99]).tolist()
    yield Result(f"{name}, tick with real drivers, median", "us", median, None, "", "200 us", median <= MEDIAN_US)
    yield Result(f"{name}, tick with real drivers, 99 %", "us", p99, None, "", "400 us", p99 <= P99_US)
