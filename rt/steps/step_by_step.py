"""The steps of the tick from a sample to the verdict: estimate, decide, control, allocate, guard.

`StepByStep` calls the parts one after the other. `CompiledSteps` in `compiled_steps.py` is the same in one compiled
call, as far as parts have a compiled form: equal to the bit, and faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple, Protocol

from granite.config.records import Sample, Verdict
from granite.controllers.stack import Stack
from granite.logs.channels import Channels
from granite.rt.guard.guard import Guard
from granite.rt.supervisor.supervisor import Supervisor


class Decision(NamedTuple):
    """What the steps give the loop."""

    verdict: Verdict
    records: bytes  #: everything from the sample to the verdict, as the first part of a row
    laps: Sequence[float]  #: duration of each step but the last [s]


class Steps(Protocol):
    """The steps of the tick between reading and writing the devices."""

    def begin(self, supervisor: Supervisor) -> None:
        """The supervisor of the run, which answers faults."""

    def run(self, sample: Sample, stack: Stack) -> Decision:
        """The checked command for a sample."""


class StepByStep:
    """The parts in Python."""

    def __init__(self, channels: Channels, guard: Guard) -> None:
        self._channels, self._guard = channels, guard
        self._supervisor: Supervisor

    def begin(self, supervisor: Supervisor) -> None:
        """The supervisor of the run, which looks at the newest records when it needs them."""
        self._supervisor = supervisor

    def run(self, sample: Sample, stack: Stack) -> Decision:
        """Call each part."""
        t0 = perf_counter()
        state = stack.estimator.estimate(sample)
        t1 = perf_counter()
        reference = stack.behaviour.decide(state)
        t2 = perf_counter()
        demand = stack.control(state, reference)
        t3 = perf_counter()
        command = stack.actuation.allocate(state, reference, demand)
        t4 = perf_counter()
        self._supervisor.newest = lambda: (state, reference)
        verdict = self._guard.check(sample, state, reference, demand, command)
        verdict = self._supervisor.judge(sample.t, verdict)
        records = self._channels.pack_decision(sample, state, reference, demand, command, verdict)
        return Decision(verdict, records, (t1 - t0, t2 - t1, t3 - t2, t4 - t3))
