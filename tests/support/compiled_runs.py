"""A run that is compiled as a whole beside the same run in Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.rt.compiled_run import CompiledRun, is_compilable
from granite.rt.loop.clock import VirtualClock
from granite.rt.loop.loop import Outcome
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run


def assert_same_rows(run: Run, rows: Array, expected: Array, but: Sequence[tuple[str, str]] = ()) -> None:
    assert rows.shape == expected.shape
    kept = np.ones(run.channels.width, dtype=bool)
    for topic, entry in (("/timing", "steps"), *but):
        kept[run.channels.columns(topic, entry)] = False
    differs = (rows.view(np.uint64) != expected.view(np.uint64)) & kept
    assert not differs.any(), np.argwhere(differs)[:5]


def assert_equal_to_the_bit(bed: Testbed, but: Sequence[tuple[str, str]] = ()) -> Outcome:
    """`but`: entries of topics that are not compared."""
    run = Run(bed)
    assert is_compilable(run)
    compiled, content = CompiledRun(run), np.full((run.ticks, run.channels.width), np.nan)
    results = compiled.rows(into=content)  # every number is written, and none is read before
    assert results is not None
    rows, outcome, truth = results
    python = Run(bed)
    memory = Memory(python.channels, python.ticks)
    expected = python.execute(VirtualClock(), memory)
    assert_same_rows(run, rows, memory.rows, but)
    assert (outcome.reason, outcome.ticks, outcome.t) == (expected.reason, expected.ticks, expected.t)
    assert str(outcome.fault) == str(expected.fault)
    assert outcome.overruns == expected.overruns == 0
    assert run.ending(outcome, truth) == python.ending(expected)
    return outcome
