"""The steps from estimate to guard before and after a gain changes, in a hold, and after the start: one run, paced."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, Request, RequestKind, RunMode
from granite.rt.loop.clock import RealClock
from granite.rt.process.realtime import real_time
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run

#: what is asked for, at which time [s]
REQUESTS = {
    4.0: Request(RequestKind.SET_GAIN, argument=0, value=0.7),
    8.0: Request(RequestKind.HOLD),
    12.0: Request(RequestKind.START),
}
PHASES = {"as started": (1, 4), "after set-gain": (5, 8), "in a hold": (9, 12), "after start": (14, 18)}
#: estimate, decide, control, allocate, guard among the steps of a row
_STEPS = slice(1, 6)


class _Script:
    def __init__(self, period_s: float) -> None:
        self._waiting = {round(t / period_s): request for t, request in REQUESTS.items()}
        self._tick = -1

    def take(self, t: float, mode: RunMode, cause: Reason) -> Request | None:
        self._tick += 1
        return self._waiting.get(self._tick)

    def answer(self, request: Request, reply: Reply, mode: RunMode, cause: Reason) -> None:
        assert reply is Reply.DONE, f"{request.ask.name}: {reply.name}"

    def name(self, sender: int) -> str:
        return "script"


def measure() -> Iterator[Result]:
    limits = ["loop.longest_lateness_s=1.0", "loop.watchdog_s=1.0"]
    run = Run(load("free-flyer", ["loop.duration_s=18", "simulation.table.tilt_g=0", *limits]))
    run.source = _Script(run.bed.loop.period_s)
    memory = Memory(run.channels, 2 * run.ticks)
    with real_time(run.bed.loop):
        run.execute(RealClock(), memory)
    t = memory.rows[:, run.channels.column("/timing", "scheduled_s")]
    steps = memory.rows[:, run.channels.columns("/timing", "steps")][:, _STEPS].sum(axis=1) * 1e6
    first = None
    for phase, (begin, end) in PHASES.items():
        median = float(np.median(steps[(t >= begin) & (t < end)]))
        first = first or median
        goal = "within 20 % of the first"
        yield Result(
            f"estimate to guard, median, {phase}", "us", median, first, "as started", goal, median <= 1.2 * first
        )
