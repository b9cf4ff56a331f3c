"""Parts that are called in Python between compiled steps: their records come from the row of the tick and go into it.

These are parts without a compiled form, and compiled ones in a tick that their compiled form leaves to Python: a law
that needs a solver, a machine that may change state. The latter continue from the memory of their compiled form, and it
from theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from granite.config.records import Array, Demand, Reference, Sample, State
from granite.controllers.stack import Stack
from granite.logs.channels import Channels
from granite.logs.row_packing import pack_command, pack_demand, pack_reference, pack_state

#: the steps that may be in Python, as `steps.c` has them
ESTIMATE, DECIDE, CONTROL, ALLOCATE = range(4)
_TOPICS = "/state", "/reference", "/demand", "/command"


class PartsInPython:
    """The parts of a stack, one tick after the other.

    Parameters
    ----------
    compiled
        Those that have a compiled form.
    memory
        That of the compiled forms.
    """

    def __init__(self, channels: Channels, stack: Stack, compiled: Sequence[Any], memory: Mapping[str, Array]) -> None:
        self._channels, self._stack, self._compiled, self._memory = channels, stack, compiled, memory
        self._places = [slice(channels.topic(name).start, channels.topic(name).stop) for name in _TOPICS]
        self._state: State | None
        self._reference: Reference | None
        self._demand: Demand | None
        self.begin()

    def begin(self) -> None:
        """Begin another tick."""
        self._state = self._reference = self._demand = None

    def run(self, step: int, row: Array, sample: Sample | None = None) -> bool:
        """Call the part of a step; returns whether the estimator has found a fault."""
        stack = self._stack
        if step == ESTIMATE:
            assert sample is not None, "an estimator in Python is called with the sample itself"
            self._state = stack.estimator.estimate(sample)
            record = pack_state(self._state)
        elif step == DECIDE:
            with self._continued(stack.behaviour):
                self._reference = stack.behaviour.decide(self._state_in(row))
            record = pack_reference(self._reference)
        elif step == CONTROL:
            with self._continued(stack.law):
                self._demand = stack.law.control(self._state_in(row), self._reference_in(row))
            record = pack_demand(self._demand)
        else:
            records = self._state_in(row), self._reference_in(row), self._demand_in(row)
            record = pack_command(stack.actuation.allocate(*records))
        row[self._places[step]] = np.frombuffer(record)
        return step == ESTIMATE and bool(self._state_in(row).faults.any())

    @contextmanager
    def _continued(self, part: Any) -> Iterator[None]:
        is_compiled = any(part is other for other in self._compiled)
        if is_compiled:
            part.adopt(self._memory)
        yield
        if is_compiled:
            part.give_back(self._memory)

    # A record of this tick, by a part in Python or from the row; copied, because parts may keep what they get.

    def _state_in(self, row: Array) -> State:
        self._state = self._state or self._channels.read_state(row.copy())
        return self._state

    def _reference_in(self, row: Array) -> Reference:
        self._reference = self._reference or self._channels.read_reference(row.copy())
        return self._reference

    def _demand_in(self, row: Array) -> Demand:
        self._demand = self._demand or self._channels.read_demand(row.copy())
        return self._demand
