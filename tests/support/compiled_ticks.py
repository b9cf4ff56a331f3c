"""Rows of a run whose ticks are compiled, or in Python."""

from __future__ import annotations

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.rt.loop.clock import VirtualClock
from granite.rt.loop.loop import Outcome
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run


def rows_of(bed: Testbed, compiled: bool) -> tuple[Array, Outcome, Run]:
    run = Run(bed)
    if not compiled:
        run.compiled_steps = None
    assert (run.compiled_steps is not None) == compiled
    memory = Memory(run.channels, run.ticks)
    outcome = run.execute(VirtualClock(), memory)
    return memory.rows, outcome, run
