"""Simulated seconds per second of processor time of whole compiled runs, beside the same runs in Python; many runs.

1000 runs of 30 s are drawn in `runs/thousand-runs.png`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.result import Result
from benchmarks.thousand_runs import SIGNALS, draw
from granite.config.loader import load
from granite.rt.compiled_run import CompiledRun
from granite.rt.loop.clock import VirtualClock
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run
from granite.tuning.many_runs import simulate_many

_ROUNDS = 3


def measure() -> Iterator[Result]:
    for name, changes, rate_goal, ratio_goal in (
        ("free-flyer", [], 300.0, 8.0),
        ("two-arm-free-flyer", [], None, 8.0),
        ("fixed-dual-arm/carry", [], None, None),
        ("leap", [], None, None),
        ("two-arm-catch", [], None, None),
        ("free-flyer", ["loop.period_s=0.001", "simulation.physics_step_s=0.001"], None, None),
    ):
        bed = load(name, [*changes, "loop.duration_s=30"])
        rate = f"{name}, {1 / bed.loop.period_s:g} Hz"
        compiled = CompiledRun(run := Run(bed))
        rows = np.empty((run.ticks, run.channels.width))  # the same for all runs, as in a batch
        python, ours = float("inf"), float("inf")
        for _ in range(_ROUNDS):  # in turns: other programs only lengthen a round
            ours = min(ours, _processor_time(lambda: compiled.rows(into=rows)))  # noqa: B023
            python = min(python, _processor_time(_in_python(Run(bed))))
        fast, slow = 30.0 / ours, 30.0 / python
        goals = ([f"{rate_goal:g}"] if rate_goal else []) + (
            [f"{ratio_goal:g} times the loop in Python"] if ratio_goal else []
        )
        wanted = f"at least {' and '.join(goals)}" if goals else ""
        met = fast >= (ratio_goal or 0) * slow and fast >= (rate_goal or 0) if goals else None
        yield Result(f"compiled run of {rate}", "simulated s/s", fast, slow, "loop in Python", wanted, met)
    yield from _many()


def _many() -> Iterator[Result]:
    """1000 runs of 30 s, drawn: wall time with two processes, beside one."""
    taken = {}
    for processes in (1, 2):
        began = time.perf_counter()
        runs = simulate_many("free-flyer", seeds=range(1, 1001), signals=SIGNALS, processes=processes)
        taken[processes] = time.perf_counter() - began
    file = Path("runs/thousand-runs.png")
    file.parent.mkdir(exist_ok=True)
    draw(runs).savefig(file)
    yield Result(
        f"1000 runs of 30 s, two processes, drawn in {file}", "s", taken[2], taken[1], "one process",
        "at least 1.8 times", taken[1] / taken[2] >= 1.8,
    )  # fmt: skip


def _in_python(run: Run) -> Callable[[], object]:
    run.compiled_steps = None
    memory = Memory(run.channels, run.ticks)
    return lambda: run.execute(VirtualClock(), memory)


def _processor_time(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began
