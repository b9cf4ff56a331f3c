"""Rules that the rows of every run keep: time and tick rise, counts are whole numbers, codes are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from granite.config.reasons import Reason
from granite.config.records import Array
from granite.config.responses import RESPONSES
from granite.config.run_modes import Reply, RequestKind, RunMode
from granite.config.testbed import Testbed
from granite.logs.channels import Channels

#: from here on not every whole number is a float64
_LARGEST_COUNT = 2.0**53
_COUNTS = {("/timing", "tick"), ("/timing", "lost"), ("/timing", "overruns"), ("/verdict", "subject")}
_COUNTS |= {("/operation", "sender"), ("/operation", "argument")}
#: entries that hold a code, with the codes that they may have
_CODES: dict[tuple[str, str], tuple[int, ...]] = {
    ("/verdict", "reason"): tuple(Reason),
    ("/operation", "request"): tuple(RequestKind),
    ("/operation", "reply"): tuple(Reply),
    ("/operation", "mode"): tuple(RunMode),
    ("/operation", "cause"): tuple(Reason),
    ("/operation", "response"): tuple(range(len(RESPONSES) + 1)),
}
_FLAGS = {("/state", "ready"), ("/reference", "done"), ("/verdict", "stop")}
#: of a contact in the truth: open, closed, slipping, out of reach; NaN where there is no plant
_CONTACT_STATES = (0.0, 1.0, 2.0, 3.0)


class RowError(ValueError):
    """A row that no run can have written."""


class RowRules:
    """Checks successive rows."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._period = bed.loop.period_s
        self._tick, self._t = channels.column("/timing", "tick"), channels.column("/timing", "scheduled_s")
        self._sampled = channels.column("/sample", "t_s")
        self._counts, self._flags, self._contacts = dict[int, str](), dict[int, str](), dict[int, str]()
        for topic in channels.topics:
            for column, (entry, value) in enumerate(topic.values, topic.start):
                name = f"{topic.name} {value.key}"
                if (topic.name, entry) in _COUNTS or entry.endswith((".number", ".status")):
                    self._counts[column] = name
                elif (topic.name, entry) in _FLAGS:
                    self._flags[column] = name
                elif (topic.name, entry) == ("/truth", "closed"):
                    self._contacts[column] = name
        self._codes = {(channels.column(*name), " ".join(name)): codes for name, codes in _CODES.items()}
        self._last_tick = -1.0
        self._n = 0  #: rows so far

    def check(self, rows: Array) -> None:
        """Check the next rows; `RowError` names the first that breaks a rule."""
        counts = rows[:, list(self._counts)]
        with np.errstate(invalid="ignore"):
            whole = (counts == np.floor(counts)) & (np.abs(counts) < _LARGEST_COUNT)
        self._refuse(rows, self._counts, whole, "a whole number")
        self._refuse(rows, self._flags, np.isin(rows[:, list(self._flags)], (0.0, 1.0)), "0 or 1")
        for (column, name), codes in self._codes.items():
            right = np.isin(rows[:, [column]], np.array(codes, dtype=float))
            self._refuse(rows, {column: name}, right, f"the number of a {name.partition(' ')[2]}")
        contacts = rows[:, list(self._contacts)]
        known = np.isin(contacts, _CONTACT_STATES) | np.isnan(contacts)
        self._refuse(rows, self._contacts, known, "0, 1, 2 or 3")
        tick = rows[:, self._tick]
        rises = np.diff(tick, prepend=self._last_tick) > 0
        self._refuse(rows, {self._tick: "/timing tick"}, rises[:, None], "more than in the row before")
        # The loop computes its deadlines like this, so they are equal to the bit.
        times, expected = rows[:, [self._t, self._sampled]], f"tick times {self._period:g} s"
        names = {self._t: "/timing scheduled_s", self._sampled: "/sample t_s"}
        self._refuse(rows, names, times == (tick * self._period)[:, None], expected)
        if len(rows):
            self._last_tick, self._n = float(tick[-1]), self._n + len(rows)

    def _refuse(self, rows: Array, names: dict[int, str], right: NDArray[np.bool_], expected: str) -> None:
        if right.all():
            return
        row, at = (int(i) for i in np.argwhere(~right)[0])
        column, name = list(names.items())[at]
        raise RowError(f"row {self._n + row + 1}: {name} = {rows[row, column]:.6g}, expected {expected}")
