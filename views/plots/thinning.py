"""The rows of a long run that are drawn: those with the extremes of every drawn line, so that no peak is lost.

The run is cut into equal intervals. Of each interval remain the rows in which a line is lowest or highest, in which a
contact changes, and the last one. Valves and wrenches are drawn as means, so each remaining row has the means since the
one before it, and how many ticks they are of.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from granite.config.records import Array
from granite.logs.channels import Channels
from granite.logs.contact_changes import Change, ContactChanges
from granite.logs.log import Log
from granite.logs.machine_summary import StateChange, StateChanges

#: a number beyond this is a fault, and must not scale the axes
_LARGEST = 1e6
#: runs up to this number of rows, or of values, are drawn whole
MOST_ROWS, _MOST_VALUES = 40_000, 8_000_000
#: changes of contacts, and of states, that are marked
_MOST_CHANGES = 20_000
#: entries that are drawn as lines, and as means
_LINES = (("/truth", "q"), ("/state", "q"), ("/truth", "wrench"), ("/truth", "squeeze"), ("/truth", "audit"))
_MEANS = (("/demand", "wrench"), ("/truth", "thrust"), ("/verdict", "thrust"))

Indices = npt.NDArray[np.intp]


class DrawnRows(NamedTuple):
    """Rows in the order of time."""

    rows: Array
    means: Array  #: of every column since the row before; only those of the means differ from the rows
    weight: Array  #: number of ticks that the means are of
    tick_time: Array  #: of all ticks [s]
    changes: tuple[Change, ...]  #: of contacts
    states: tuple[StateChange, ...]  #: of a state machine


def drawn_rows(log: Log) -> DrawnRows:
    """All rows of a run of usual length, the remaining ones of a long run."""
    most = min(MOST_ROWS, _MOST_VALUES // log.channels.width)
    watched = _ThinnedColumns(log.channels)
    contacts = ContactChanges(log.bed, log.channels)
    entered = StateChanges(log.bed, log.channels)
    kept: list[Array] = []
    means: list[Array] = []
    weights: list[Array] = []
    tick_times: list[Array] = []
    changes: list[Change] = []
    states: list[StateChange] = []
    # Of an interval remain two rows for each line at most, as many for changes, and the last one.
    is_whole = log.ticks <= most
    n = most if is_whole else -(-log.ticks * (4 * watched.width + 1) // most)
    for rows in _intervals(log.blocks(), n):
        with np.errstate(invalid="ignore"):
            rows = np.where(np.abs(rows) < _LARGEST, rows, np.nan)
        changes += islice(contacts.look(rows), max(_MOST_CHANGES - len(changes), 0))
        states += islice(entered.look(rows), max(_MOST_CHANGES - len(states), 0))
        tick_times.append(np.nan_to_num(rows[:, watched.steps]).sum(axis=1))
        at = np.arange(len(rows)) if is_whole else watched.extremes(rows)
        starts = np.concatenate(([0], at[:-1] + 1))
        weight = np.diff(starts, append=len(rows)).astype(float)
        some = rows[at]
        mean = some.copy()
        mean[:, watched.means] = np.add.reduceat(rows[:, watched.means], starts) / weight[:, None]
        kept.append(some)
        means.append(mean)
        weights.append(weight)
    return DrawnRows(
        np.concatenate(kept),
        np.concatenate(means),
        np.concatenate(weights),
        np.concatenate(tick_times),
        tuple(changes),
        tuple(states),
    )


class _ThinnedColumns:
    """The columns whose extremes are kept."""

    def __init__(self, channels: Channels) -> None:
        def columns(*entries: tuple[str, str]) -> list[int]:
            slices = [channels.columns(*entry) for entry in entries]
            return [i for part in slices if isinstance(part, slice) for i in range(part.start, part.stop)]

        applied = channels.topic("/applied")
        openings = [i for i, (entry, _) in enumerate(applied.values, applied.start) if entry.endswith(".values")]
        self.steps = columns(("/timing", "steps"))
        self.means = [*columns(*_MEANS), *openings, *self.steps]
        self._lines = [*columns(*_LINES), *openings]
        self._ready = channels.column("/state", "ready")
        self._closed = columns(("/truth", "closed"))
        #: the error is drawn too: its extremes are not those of the two lines
        names = {value: i for i, (entry, value) in _numbered(channels, "/truth") if entry == "q"}
        estimate = {value: i for i, (entry, value) in _numbered(channels, "/state") if entry == "q"}
        reference = {value: i for i, (entry, value) in _numbered(channels, "/reference") if entry == "q"}
        self._errors = [(source[c], i) for c, i in reference.items() for source in (names, estimate) if c in source]
        self.width = len(self._lines) + len(self._errors)

    def extremes(self, rows: Array) -> Indices:
        """Numbers of the rows that remain, in order."""
        actual = [column for column, _ in self._errors]
        desired = [column for _, column in self._errors]
        errors = np.where(rows[:, [self._ready]] == 1.0, rows[:, actual] - rows[:, desired], np.nan)
        lines = np.hstack((rows[:, self._lines], errors))
        unknown = np.isnan(lines)
        lowest = np.argmin(np.where(unknown, np.inf, lines), axis=0)
        highest = np.argmax(np.where(unknown, -np.inf, lines), axis=0)
        closed = np.nan_to_num(rows[:, self._closed])
        changed = 1 + np.flatnonzero((np.diff(closed, axis=0) != 0).any(axis=1))[: self.width]
        return np.unique(np.concatenate((lowest, highest, changed, changed - 1, [len(rows) - 1]))).astype(np.intp)


def _numbered(channels: Channels, topic: str) -> Iterator[tuple[int, tuple[str, object]]]:
    layout = channels.topic(topic)
    return enumerate(layout.values, layout.start)


def _intervals(blocks: Iterator[Array], n: int) -> Iterator[Array]:
    """The rows of successive blocks, n at a time."""
    waiting: list[Array] = []
    count = 0
    for block in blocks:
        while len(block):
            some = block[: n - count]
            waiting.append(some)
            count += len(some)
            block = block[len(some) :]
            if count == n:
                yield np.concatenate(waiting)
                waiting, count = [], 0
    if waiting:
        yield np.concatenate(waiting)
