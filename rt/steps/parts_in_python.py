"""Parts that are called in Python between compiled steps: their records come from the row of the tick and go into it.

These are parts without a compiled form, and compiled ones in a tick that their compiled form leaves to Python: a law
that needs a solver, a machine that may change state. Both forms have the same memory.
"""

from __future__ import annotations

import numpy as np

from granite.config.records import Array, Demand, Reference, Sample, State
from granite.controllers.stack import Stack
from granite.logs.channels import Channels
from granite.logs.row_packing import pack_command, pack_demand, pack_reference, pack_state

#: the steps that may be in Python, as `steps.c` has them
ESTIMATE, DECIDE, CONTROL, ALLOCATE = range(4)
_TOPICS = "/state", "/reference", "/demand", "/command"


class PartsInPython:
    """The parts of a stack, one tick after the other."""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        self._columns = [slice(channels.topic(name).start, channels.topic(name).stop) for name in _TOPICS]
        self._state: State | None
        self._reference: Reference | None
        self._demand: Demand | None
        self.begin()

    def begin(self) -> None:
        """Begin another tick."""
        self._state = self._reference = self._demand = None

    def run(self, step: int, row: Array, stack: Stack, sample: Sample | None = None) -> None:
        """Call the part of a step; the row has the sample where it is not given."""
        if step == ESTIMATE:
            self._state = stack.estimator.estimate(sample or self._channels.read_sample(row.copy()))
            record = pack_state(self._state)
        elif step == DECIDE:
            self._reference = stack.behaviour.decide(self._state_in(row))
            record = pack_reference(self._reference)
        elif step == CONTROL:
            self._demand = stack.control(self._state_in(row), self._reference_in(row))
            record = pack_demand(self._demand)
        else:
            records = self._state_in(row), self._reference_in(row), self._demand_in(row)
            record = pack_command(stack.actuation.allocate(*records))
        row[self._columns[step]] = np.frombuffer(record)

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
