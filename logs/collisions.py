"""Collisions of the simulated plant, found in the rows of a run; and the least distance of what stays apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from granite.config.footprints import SolidPair, collision_pairs, guarded_pairs
from granite.config.layout import Layout
from granite.config.loader import plant_of
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.kernels.kernel import Buffer
from granite.logs.channels import Channels
from granite.logs.run_summary import CollisionMetrics, LeastDistance, Metrics
from granite.mrds.clearance import compiled_distances

#: collisions that a summary lists; the log has an event for each
_LISTED = 1000
#: rows from one look at the distances to the next, which includes the way between them
_STRIDE = 10


class Collision(NamedTuple):
    """Two bodies, or a body and a zone, from touch to parting."""

    t: float
    tick: int
    pair: str
    speed: float  #: closing, at the touch [m/s]
    impulse: float  #: normal [N s]

    @property
    def sentence(self) -> str:
        """The collision as a sentence."""
        return f"collision, {self.pair}, at {1e3 * self.speed:.3g} mm/s with {self.impulse:.3g} N s"


class CollisionChanges:
    """Finds collisions in successive rows."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._names = [pair.name for pair in collision_pairs(bed)]
        if self._names:
            self._columns = channels.columns("/truth", "struck")
        self._t, self._tick = channels.columns("/timing", "scheduled"), channels.columns("/timing", "tick")
        self._before: Array = np.zeros(len(self._names))
        #: of each pair that touches: time and tick of the touch, its speed, and the impulse before it
        self._open: dict[int, tuple[float, int, float, float]] = {}

    def look(self, rows: Array) -> list[Collision]:
        """The collisions that end in these rows."""
        if not self._names or not len(rows):
            return []
        impulse, speed = np.split(np.nan_to_num(rows[:, self._columns]), 2, axis=1)
        before = np.vstack((self._before, impulse[:-1]))
        ended = []
        for pair in np.flatnonzero((impulse > before).any(axis=0) | np.isin(range(len(self._names)), [*self._open])):
            rises = impulse[:, pair] > before[:, pair]
            for i in np.flatnonzero(np.diff(rises, prepend=pair in self._open)):
                if rises[i]:
                    at = float(rows[i, self._t]), int(rows[i, self._tick])
                    self._open[int(pair)] = *at, float(speed[i, pair]), float(before[i, pair])
                else:
                    ended.append(self._ended(int(pair), float(impulse[i, pair])))
        self._before = impulse[-1]
        return sorted(ended)

    def still_open(self) -> list[Collision]:
        """Those that last until the end of the run."""
        return sorted(self._ended(pair, float(self._before[pair])) for pair in list(self._open))

    def _ended(self, pair: int, impulse: float) -> Collision:
        t, tick, speed, before = self._open.pop(pair)
        return Collision(t, tick, self._names[pair], speed, impulse - before)


class CollisionSummary:
    """Gathers collisions, and the least distances: by the truth, or by the estimate where there is none."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        self._changes, self._collisions = CollisionChanges(bed, channels), list[Collision]()
        self._allowed = bed.simulation.collisions.allowed
        self._by_truth = _Least(collision_pairs(bed), plant_of(bed).layout, channels, "/truth")
        self._by_estimate = _Least(guarded_pairs(bed), bed.known, channels, "/state")

    def update(self, rows: Array) -> None:
        """Process the next rows."""
        self._collisions += self._changes.look(rows)
        self._by_truth.update(rows)
        self._by_estimate.update(rows)

    def add_to(self, metrics: Metrics) -> None:
        """Distances by name, and the collisions; nothing where nothing stays apart."""
        least = self._by_truth.result() or self._by_estimate.result()
        if least:
            metrics["clearance"] = least
        all_of_them = [*self._collisions, *self._changes.still_open()]
        if all_of_them:
            listed: list[CollisionMetrics] = [
                {"t_s": c.t, "pair": c.pair, "speed_m_s": c.speed, "impulse_n_s": c.impulse} for c in all_of_them
            ]
            metrics["collisions"], metrics["collisions_allowed"] = listed[:_LISTED], self._allowed


class _Least:
    """The least distance of each pair, at every tenth row and on the way between two of them."""

    def __init__(self, pairs: tuple[SolidPair, ...], layout: Layout, channels: Channels, topic: str) -> None:
        self._names = [pair.name for pair in pairs]
        self._distances: Callable[[tuple[Buffer, ...]], Array] = compiled_distances(pairs, layout)
        self._q, self._t = channels.columns(topic, "q"), channels.columns("/timing", "scheduled")
        self._least, self._at = np.full(len(pairs), np.inf), np.full(len(pairs), np.nan)
        self._rows: list[tuple[float, Array]] = []

    def update(self, rows: Array) -> None:
        if not self._names:
            return
        known = rows[np.isfinite(rows[:, self._q]).all(axis=1)]
        kept = [*self._rows[-1:], *((float(row[self._t]), row[self._q].copy()) for row in known[::_STRIDE])]
        for (_, q), (t, after) in pairwise([*kept[:1], *kept]):
            distances = self._distances((q, after))
            is_less = distances < self._least
            self._least[is_less], self._at[is_less] = distances[is_less], t
        self._rows = kept[-1:]

    def result(self) -> dict[str, LeastDistance]:
        nearest = zip(self._names, self._least.tolist(), self._at.tolist(), strict=True)
        return {name: {"least_m": least, "t_s": t} for name, least, t in nearest if np.isfinite(least)}
