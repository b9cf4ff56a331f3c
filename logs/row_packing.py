"""From the records of a tick to its row: bytes of float64 values, in the order of the records.

A boolean is 0.0 or 1.0. Called in the tick, so fast: bytes that occur twice are packed once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from struct import Struct
from typing import Any

import numpy as np

from granite.config.coordinates import Coordinate
from granite.config.records import (
    STEPS,
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
from granite.logs.row_layout import RowLayout
from granite.logs.topics import Entry

_1, _2, _3, _5, _9 = (Struct(f"{n}d").pack for n in (1, 2, 3, 5, 9))
_timing = Struct(f"{5 + len(STEPS)}d").pack


class RowPacking(RowLayout):
    """A row that is written from records."""

    def __init__(self, topics: Mapping[str, Mapping[str, Entry]]) -> None:
        super().__init__(topics)
        unknown = self.topic("/truth").entries.values()
        nothing: list[Any] = [math.nan if isinstance(e, Coordinate) else np.full(len(e), math.nan) for e in unknown]
        self._no_truth = Truth(*nothing)
        self._size = 8 * self.width
        #: entries of the truth that have values in this testbed
        filled = [i for i, e in enumerate(unknown) if isinstance(e, Coordinate) or e]
        self._end_of_truth = max(filled) + 1
        #: frames of the actuators of the last tick, which are in the next sample too
        self._applied: tuple[tuple[Frame, ...], bytes] = ((), b"")

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
        commanded = pack_command(command)
        pieces: tuple[Any, ...] = (
                self.pack_sample(sample), pack_state(state), pack_reference(reference), pack_demand(demand), commanded,
                _1(verdict.t),
                commanded if verdict.command is command else pack_command(verdict.command),
                _5(verdict.reason, verdict.subject, verdict.value, verdict.limit, verdict.stop),
        )  # fmt: skip
        return b"".join(pieces)

    def pack_sample(self, sample: Sample) -> bytes:
        """The sample alone, which a row begins with."""
        before, packed = self._applied
        applied = packed if sample.applied is before else _frames_of(sample.applied)
        return b"".join((_1(sample.t), _frames_of(sample.frames), applied))

    def completed(
        self,
        decision: bytes,
        applied: tuple[Frame, ...],
        truth: Truth | None,
        timing: Timing,
        operation: Operation,
    ) -> bytes:
        """The row whose first part this is."""
        done = _frames_of(applied)
        self._applied = applied, done
        truth = truth or self._no_truth
        pieces: tuple[Any, ...] = (
                decision,
                done,
                _1(truth.t), *truth[1 : self._end_of_truth],
                _timing(timing.tick, timing.scheduled, timing.delay, *timing.steps, timing.lost, timing.overruns),
                _9(*operation[:9]), operation.gains,
        )  # fmt: skip
        row = b"".join(pieces)
        if len(row) != self._size:
            raise ValueError(f"the records of a tick have {len(row)} bytes, expected {self._size}")
        return row


def _frames_of(frames: tuple[Frame, ...]) -> bytes:
    pieces: list[Any] = []
    for t, number, status, values in frames:
        pieces += (_3(t, number, status), values)
    return b"".join(pieces)


def pack_state(state: State) -> bytes:
    """The estimate as it stands in a row."""
    t, ready, *arrays = state
    pieces: tuple[Any, ...] = (_2(t, ready), *arrays)
    return b"".join(pieces)


def pack_reference(reference: Reference) -> bytes:
    """The reference as it stands in a row."""
    t, q, u, a, done, direct, task = reference
    pieces: tuple[Any, ...] = (_1(t), q, u, a, _1(done), *direct, task)
    return b"".join(pieces)


def pack_demand(demand: Demand) -> bytes:
    """The demand as it stands in a row."""
    t, *arrays = demand
    pieces: tuple[Any, ...] = (_1(t), *arrays)
    return b"".join(pieces)


def pack_command(command: Command) -> bytes:
    """A command as it stands in a row."""
    pieces: list[Any] = [_1(command.t), *command.setpoints, command.thrust, command.unloading]
    return b"".join(pieces)
