"""What happened to the contacts of a run, found in its rows: taking hold, letting go, slipping, being struck."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from config.records import Array
from config.testbed import Testbed
from rt.channels import Channels

OUT_OF_REACH = "out of reach"
#: by the status of a contact
_WORDS = {0: "opened", 1: "closed", 2: "slips", 3: OUT_OF_REACH}


class Change(NamedTuple):
    """Something that happened to a contact in the period before a tick."""

    t: float
    tick: int
    contact: str
    what: str  #: opened, closed, slips, sticks, struck or out of reach
    impulse: float  #: [N s]
    energy_lost: float  #: of all contacts that changed in this period [J]

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        if self.what == OUT_OF_REACH:
            return f"contact {self.contact} is told to close, but what it should hold is out of reach"
        took = f", an impulse of {self.impulse:.3g} N s took {self.energy_lost:.3g} J" if self.impulse > 0 else ""
        verb = {"opened": "opened", "closed": "closed", "struck": "was struck"}.get(self.what, self.what)
        return f"contact {self.contact} {verb}{took}"


class ContactChanges:
    """Looks through rows that follow each other."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._names = [contact.name for contact in bed.contacts]
        self._t, self._tick = channels.place("/timing", "scheduled"), channels.place("/timing", "tick")
        self._places = [channels.place("/truth", entry) for entry in ("closed", "caught", "lost")]
        self._before: Array | None = None

    def look(self, rows: Array) -> Iterator[Change]:
        """The changes in these rows."""
        if not self._names or not len(rows):
            return
        watched = np.hstack([rows[:, place] for place in self._places])
        before = np.vstack((watched[0] if self._before is None else self._before, watched[:-1]))
        self._before = watched[-1]
        for i in np.flatnonzero((watched != before).any(axis=1) & np.isfinite(watched).all(axis=1)):
            yield from self._changes(rows[i], before[i], watched[i])

    def _changes(self, row: Array, before: Array, now: Array) -> Iterator[Change]:
        n, at = len(self._names), (float(row[self._t]), int(row[self._tick]))
        lost = float(now[-1] - before[-1])
        for i, name in enumerate(self._names):
            was, status, impulse = before[i], now[i], float(now[n + i] - before[n + i])
            if status != was:
                what = "sticks" if (was, status) == (2, 1) else _WORDS[int(status)]
                yield Change(*at, name, what, impulse, lost)
            elif impulse > 0:
                yield Change(*at, name, "struck", impulse, lost)
