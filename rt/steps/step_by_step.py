"""The steps of the tick from a sample to the verdict: estimate, decide, control, allocate, guard.

`StepByStep` calls the parts one after the other; a user's own part runs there. `CompiledSteps` in `compiled_steps.py`
is the same in one compiled call, where every part has a compiled form: equal to the bit, and faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple, Protocol

from granite.config.records import Sample, State, Verdict, new
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

    def run(self, sample: Sample, stack: Stack) -> Decision:
        """The checked command for a sample."""


class StepByStep:
    """The parts in Python."""

    def __init__(self, channels: Channels, guard: Guard, supervisor: Supervisor) -> None:
        self._channels, self._guard, self._supervisor = channels, guard, supervisor

    def run(self, sample: Sample, stack: Stack) -> Decision:
        """Call each part."""
        t0 = perf_counter()
        state = stack.estimator.estimate(sample)
        return self.after_estimate(sample, state, stack, perf_counter() - t0)

    def after_estimate(self, sample: Sample, state: State, stack: Stack, lap: float) -> Decision:
        """Call the parts after the estimator, which took this long [s]."""
        t1 = perf_counter()
        reference = stack.behaviour.decide(state)
        t2 = perf_counter()
        demand = stack.law.control(state, reference)
        t3 = perf_counter()
        command = stack.actuation.allocate(state, reference, demand)
        t4 = perf_counter()
        verdict = self._guard.check(sample, state, reference, demand, command)
        verdict = self._supervisor.judge(sample.t, state, reference, verdict)
        records = self._channels.pack_decision(sample, state, reference, demand, command, verdict)
        return new(Decision, (verdict, records, (lap, t2 - t1, t3 - t2, t4 - t3)))
