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
#: entries that hold a code, with the codes that they may have: numbers from 0 on
_CODES: dict[tuple[str, str], int] = {
    ("/verdict", "reason"): len(Reason),
    ("/operation", "request"): len(RequestKind),
    ("/operation", "reply"): len(Reply),
    ("/operation", "mode"): len(RunMode),
    ("/operation", "cause"): len(Reason),
    ("/operation", "response"): len(RESPONSES) + 1,
}
_FLAGS = {("/state", "ready"), ("/reference", "done"), ("/verdict", "stop")}
#: of a contact in the truth: open, closed, slipping, out of reach; NaN where there is no plant
_CONTACT = ("/truth", "closed")
_CONTACT_STATES = 4


class RowError(ValueError):
    """A row that no run can have written."""


class RowRules:
    """Checks successive rows."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._period = bed.loop.period_s
        self._tick, self._t = channels.column("/timing", "tick"), channels.column("/timing", "scheduled_s")
        self._sampled = channels.column("/sample", "t_s")
        #: by column: its name, and what is expected
        self._counts = dict[int, tuple[str, str]]()
        #: by column: name, number of codes, whether it may be NaN, and what is expected
        codes = dict[int, tuple[str, int, bool, str]]()
        for topic in channels.topics:
            for column, (entry, value) in enumerate(topic.values, topic.start):
                key, name = (topic.name, entry), f"{topic.name} {value.key}"
                if key in _COUNTS or entry.endswith((".number", ".status")):
                    self._counts[column] = name, "a whole number"
                elif key in _FLAGS:
                    codes[column] = name, 2, False, "0 or 1"
                elif key == _CONTACT:
                    codes[column] = name, _CONTACT_STATES, True, "0, 1, 2 or 3"
                elif key in _CODES:
                    codes[column] = name, _CODES[key], False, f"the number of a {entry}"
        self._codes = {column: (name, expected) for column, (name, _, _, expected) in codes.items()}
        self._greatest = np.array([n - 1.0 for _, n, _, _ in codes.values()])
        self._may_lack = np.array([may_lack for _, _, may_lack, _ in codes.values()])
        self._last_tick = -1.0
        self._n = 0  #: rows so far

    def check(self, rows: Array) -> None:
        """Check the next rows; `RowError` names the first that breaks a rule."""
        counts, codes = rows[:, list(self._counts)], rows[:, list(self._codes)]
        with np.errstate(invalid="ignore"):
            whole = (counts == np.floor(counts)) & (np.abs(counts) < _LARGEST_COUNT)
            known = (codes == np.floor(codes)) & (codes >= 0.0) & (codes <= self._greatest)
        if not known.all():
            known |= self._may_lack & np.isnan(codes)
        self._refuse(rows, self._counts, whole)
        self._refuse(rows, self._codes, known)
        tick = rows[:, self._tick]
        rises = np.diff(tick, prepend=self._last_tick) > 0
        self._refuse(rows, {self._tick: ("/timing tick", "more than in the row before")}, rises[:, None])
        # The loop computes its deadlines like this, so they are equal to the bit.
        times, expected = rows[:, [self._t, self._sampled]], f"tick times {self._period:g} s"
        names = {self._t: ("/timing scheduled_s", expected), self._sampled: ("/sample t_s", expected)}
        self._refuse(rows, names, times == (tick * self._period)[:, None])
        if len(rows):
            self._last_tick, self._n = float(tick[-1]), self._n + len(rows)

    def _refuse(self, rows: Array, names: dict[int, tuple[str, str]], right: NDArray[np.bool_]) -> None:
        """Refuse the first value that is not right; by column its name, and what is expected."""
        if right.all():
            return
        row, at = (int(i) for i in np.argwhere(~right)[0])
        column, (name, expected) = list(names.items())[at]
        raise RowError(f"row {self._n + row + 1}: {name} = {rows[row, column]:.6g}, expected {expected}")
