"""Flexible links that were bent beyond the limit of the small-deflection beam model.

A run beyond `simulation.largest_deflection` continues: its error grows gradually, and the log shows what bent the link.
It warns, and an audit of it fails. The plant itself ends a run in which a link is bent by more than its length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.loader import plant_of
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.logs.run_summary import AuditCheck, LinkBending
from granite.mrds.flexible.deflection import Deflections


class BendingExcess(NamedTuple):
    """The first time that a link was bent beyond the limit."""

    t: float
    tick: int
    sentence: str


class Bending:
    """Gathers the deflections of all flexible links, at the ticks of a run."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        has_links = any(body.flexible for module in bed.modules for body in module.bodies)
        self._deflections = Deflections(plant_of(bed)) if has_links else None
        self._limit, self._period = bed.simulation.largest_deflection, bed.loop.period_s
        self._q = channels.columns("/truth", "q")
        self._at = channels.columns("/truth", "t"), channels.columns("/timing", "tick")
        n = len(self._deflections.links) if self._deflections else 0
        self._largest, self._beyond = np.zeros(n), np.zeros(n, dtype=int)

    def update(self, rows: Array) -> list[BendingExcess]:
        """Process the next rows; the links that exceed the limit for the first time in this run."""
        if self._deflections is None:
            return []
        rows = rows[np.isfinite(rows[:, self._q]).all(axis=1)]
        deflection = self._deflections(rows[:, self._q])
        beyond = deflection > self._limit
        excesses = []
        for i in np.flatnonzero(beyond.any(axis=0) & (self._beyond == 0)):
            first = int(np.argmax(beyond[:, i]))
            t, tick = (rows[first, column] for column in self._at)
            words = (
                f"{self._deflections.links[i]} is bent by {deflection[first, i]:.3g} of its length, beyond "
                f"simulation.largest_deflection = {self._limit:g}: the beam model is not valid for that"
            )
            excesses.append(BendingExcess(float(t), int(tick), words))
        self._largest = np.maximum(self._largest, deflection.max(axis=0, initial=0.0))
        self._beyond += beyond.sum(axis=0)
        return excesses

    def result(self) -> dict[str, LinkBending]:
        """Largest deflection of each link over its length, and for how long it was beyond the limit."""
        links = self._deflections.links if self._deflections else ()
        return {
            link: {"max": float(largest), "limit": self._limit, "beyond_s": float(ticks * self._period)}
            for link, largest, ticks in zip(links, self._largest, self._beyond, strict=True)
        }

    def check(self) -> AuditCheck | None:
        """The largest deflection against the limit; None without flexible links."""
        if self._deflections is None:
            return None
        largest = float(self._largest.max(initial=0.0))
        return {"unit": "of the length", "largest": largest, "limit": self._limit, "held": largest <= self._limit}
