"""Simulated seconds and ticks per second of processor time of whole compiled runs, every controlled testbed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load, presets
from granite.rt.compiled_run import CompiledRun, is_compilable
from granite.rt.run import Run

_LONGEST_S, _ROUNDS, _GOAL = 15.0, 3, 200.0


def measure() -> Iterator[Result]:
    for preset in presets():
        for name in (preset.name, *(f"{preset.name}/{variant}" for variant, _ in preset.variants)):
            if load(name).controller is not None:
                yield _measure(name)


def _measure(name: str) -> Result:
    bed = load(name)
    bed = bed.with_changes({"loop.duration_s": min(bed.loop.duration_s, _LONGEST_S)})
    run, period = Run(bed), bed.loop.period_s
    what = f"compiled run of {name}, {1 / period:g} Hz"
    if not is_compilable(run):
        return Result(what, "simulated s/s", 0.0, None, "not compiled", f"at least {_GOAL:g}", False)
    compiled, rows = CompiledRun(run), np.empty((run.ticks, run.channels.width))
    taken, ticks = float("inf"), 0
    for _ in range(_ROUNDS):
        began = time.process_time()
        result = compiled.rows(into=rows)
        taken, ticks = min(taken, time.process_time() - began), result[1].ticks if result else 0
    fast = ticks * period / taken
    return Result(
        what, "simulated s/s", fast, None, f"{ticks / taken:.0f} ticks/s", f"at least {_GOAL:g}", fast >= _GOAL
    )
