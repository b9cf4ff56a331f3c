"""Changes of the contacts of a run, found in its rows: closing, opening, slipping, impacts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels

OUT_OF_REACH = "out of reach"
#: by the status of a contact
_WORDS = {0: "opened", 1: "closed", 2: "slips", 3: OUT_OF_REACH}


class Change(NamedTuple):
    """Change of a contact in the period before a tick."""

    t: float
    tick: int
    contact: str
    what: str  #: opened, closed, slips, sticks, struck or out of reach
    impulse: float  #: [N s]
    #: of all contacts that changed in this period [J]; given once, with the largest impulse, None with the others
    energy_lost: float | None

    @property
    def sentence(self) -> str:
        """The change as a sentence."""
        if self.what == OUT_OF_REACH:
            return f"contact {self.contact} is commanded to close, but its other side is out of reach"
        impulse = f"an impulse of {self.impulse:.3g} N s"
        took = f", by {impulse}" if self.energy_lost is None else f", {impulse} took {self.energy_lost:.3g} J"
        verb = {"opened": "opened", "closed": "closed", "struck": "was struck"}.get(self.what, self.what)
        return f"contact {self.contact} {verb}{took if self.impulse > 0 else ''}"


class ContactChanges:
    """Finds changes in successive rows."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._names = [contact.name for contact in bed.contacts]
        self._t, self._tick = channels.columns("/timing", "scheduled"), channels.columns("/timing", "tick")
        self._columns = [channels.columns("/truth", entry) for entry in ("closed", "caught", "lost")]
        self._before: Array | None = None

    def look(self, rows: Array) -> Iterator[Change]:
        """The changes in these rows."""
        if not self._names or not len(rows):
            return
        watched = np.hstack([rows[:, columns] for columns in self._columns])
        before = np.vstack((watched[0] if self._before is None else self._before, watched[:-1]))
        self._before = watched[-1]
        for i in np.flatnonzero((watched != before).any(axis=1) & np.isfinite(watched).all(axis=1)):
            yield from self._changes(rows[i], before[i], watched[i])

    def _changes(self, row: Array, before: Array, now: Array) -> Iterator[Change]:
        n, at = len(self._names), (float(row[self._t]), int(row[self._tick]))
        impulses, lost = now[n : 2 * n] - before[n : 2 * n], float(now[-1] - before[-1])
        changes = [
            Change(*at, name, what, float(impulse), None)
            for name, was, status, impulse in zip(self._names, before[:n], now[:n], impulses, strict=True)
            if (what := _what(was, status, impulse))
        ]
        greatest = max(range(len(changes)), key=lambda i: changes[i].impulse, default=None)
        for i, change in enumerate(changes):
            yield change._replace(energy_lost=lost) if i == greatest else change


def _what(was: float, status: float, impulse: float) -> str | None:
    """The change of a contact between two ticks, if any."""
    if status == was:
        return "struck" if impulse > 0 else None
    if (was, status) == (3, 0):
        return None  # it was commanded to close and could not; the command is withdrawn, and it is open as before
    return "sticks" if (was, status) == (2, 1) else _WORDS[int(status)]
