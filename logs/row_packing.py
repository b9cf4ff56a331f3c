"""From the records of a tick to its row: bytes of float64 values, in the order of the records.

Called in the tick, so fast: bytes that occur twice are packed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from granite.config.coordinates import Coordinate
from granite.config.records import (
    Command,
    Demand,
    Frame,
    Operation,
    Reference,
    Sample,
    State,
    Timing,
    Truth,
    Verdict,
)
from granite.logs.record_form import FRAMES, packing
from granite.logs.row_layout import RowLayout
from granite.logs.topics import Entry

pack_state = packing(State)
pack_reference = packing(Reference)
pack_demand = packing(Demand)
pack_command = packing(Command)
_pack_timing = packing(Timing)
_pack_operation = packing(Operation)
_pack_frames = packing(FRAMES)


class RowPacking(RowLayout):
    """A row that is written from records."""

    def __init__(self, topics: Mapping[str, Mapping[str, Entry]]) -> None:
        super().__init__(topics)
        truth = self.topic("/truth").entries
        nothing: dict[str, Any] = {
            entry: math.nan if isinstance(values, Coordinate) else np.full(len(values), math.nan)
            for entry, values in truth.items()
        }
        self._no_truth = Truth(**nothing)
        self._pack_truth = packing(Truth, left_out=[entry for entry in Truth._fields if not truth.get(entry)])
        self._size = 8 * self.width
        #: frames of the actuators are in the next sample too, and the command is mostly what the verdict allows
        self._pack_applied = _once(_pack_frames)
        self._pack_command = _once(pack_command)
        #: the sample alone, which a row begins with
        self.pack_sample: Callable[[Sample], bytes] = packing(Sample, frames=_pack_frames, applied=self._pack_applied)
        self._pack_verdict = packing(Verdict, command=self._pack_command)

    def pack(
        self,
        sample: Sample,
        state: State,
        reference: Reference,
        demand: Demand,
        command: Command,
        verdict: Verdict,
        applied: tuple[Frame, ...],
        truth: Truth | None,
        timing: Timing,
        operation: Operation,
    ) -> bytes:
        """The records of a tick as a row."""
        decision = self.pack_decision(sample, state, reference, demand, command, verdict)
        return self.completed(decision, applied, truth, timing, operation)

    def pack_decision(
        self, sample: Sample, state: State, reference: Reference, demand: Demand, command: Command, verdict: Verdict
    ) -> bytes:
        """The first part of a row: the records up to the verdict."""
        return b"".join(
            (
                self.pack_sample(sample),
                pack_state(state),
                pack_reference(reference),
                pack_demand(demand),
                self._pack_command(command),
                self._pack_verdict(verdict),
            )
        )

    def completed(
        self,
        decision: bytes,
        applied: tuple[Frame, ...],
        truth: Truth | None,
        timing: Timing,
        operation: Operation,
    ) -> bytes:
        """The row whose first part this is."""
        row = b"".join(
            (
                decision,
                self._pack_applied(applied),
                self._pack_truth(truth or self._no_truth),
                _pack_timing(timing),
                _pack_operation(operation),
            )
        )
        if len(row) != self._size:
            raise ValueError(f"the records of a tick have {len(row)} bytes, expected {self._size}")
        return row


def _once(pack: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """The same function, which gives the bytes of the object before again where it is the same one."""
    last: Any = None
    packed = b""

    def pack_once(record: Any) -> bytes:
        nonlocal last, packed
        if record is not last:
            packed, last = pack(record), record
        return packed

    return pack_once
