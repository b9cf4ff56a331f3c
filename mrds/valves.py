"""How a bank of valves answers its commands: dead time, linear rise and fall, shortest pulse.

A command given at t acts at t + delay_s; from then the opening moves towards the commanded one at the slope
1/rise_s, or in one step where rise_s is zero. A valve that has opened stays open for minimum_on_s: a close
that comes earlier is postponed to exactly that moment, and an open that comes before it calls the close off.

The opening is piecewise linear in time, so its average over any interval is exact: trapezoids between the
kinks. The controller uses it to predict what its command will deliver, the simulated plant to deliver it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from math import copysign, inf

import numpy as np

from config.devices import Valve
from config.records import Array

#: two times closer than this are the same time [s]
SAME_TIME_S = 1e-9


class ValveBank:
    """`n` valves of one kind, all closed at first. Time never goes back from call to call."""

    def __init__(self, valve: Valve, n: int) -> None:
        self._valves = [_OneValve(valve) for _ in range(n)]
        self._minimum_on = valve.minimum_on_s
        self._told = np.zeros(n).tobytes()
        self._taken = _frozen(np.zeros(n))
        self._next_close = inf
        #: valves that have something before them; the others stay as they are unless a command comes
        self._moving: dict[int, _OneValve] = {}
        #: the opening of all valves, as long as none of them moves
        self._steady = _frozen(np.zeros(n))
        self._steady_until = inf

    def command(self, t: float, opening: Array) -> Array:
        """Tell the valves how far to open (each 0 to 1); returns what they take."""
        told = opening.tobytes()
        if told == self._told and t < self._next_close - SAME_TIME_S:
            return self._taken
        self._told = told
        return self._tell(t, opening, self._minimum_on)

    def close(self, t: float) -> None:
        """Close all valves, however short they were open; dead time and fall stay."""
        nothing = np.zeros(len(self._valves))
        self._told = nothing.tobytes()
        self._tell(t, nothing, 0.0)

    def mean_opening(self, t0: float, t1: float) -> Array:
        """The average opening of each valve from t0 to t1 (n); the next command may come at t1, not earlier."""
        if t1 <= self._steady_until:
            return self._steady
        means = self._steady.copy()
        for i, valve in self._moving.items():
            means[i] = valve.mean(t0, t1)
        self._settle()
        return means

    def mean_openings(self, first: int, last: int, step_s: float) -> Array:
        """The same in each step from first * step_s to last * step_s, one row each; a single row if no valve moves."""
        if last * step_s <= self._steady_until:
            return self._steady
        times = [k * step_s for k in range(first, last + 1)]
        means = np.empty((last - first, len(self._valves)))
        means[...] = self._steady
        for i, valve in self._moving.items():
            means[:, i] = valve.means(times)
        self._settle()
        return means

    def _settle(self) -> None:
        """See which valves still move, and when the next one will."""
        until, at_rest = inf, []
        for i, valve in self._moving.items():
            if valve.level != valve.target:
                until = -inf
            elif not valve.changes:
                at_rest.append(i)
            elif valve.changes[0][0] < until:
                until = valve.changes[0][0]
        for i in at_rest:
            del self._moving[i]
        if at_rest or until > -inf:
            self._steady = _frozen(np.array([valve.level for valve in self._valves]))
        self._steady_until = until

    def _tell(self, t: float, opening: Array, minimum_on: float) -> Array:
        until = self._steady_until
        for i, (valve, wanted) in enumerate(zip(self._valves, opening.tolist(), strict=True)):
            if wanted != valve.commanded or valve.close_at < inf:
                valve.command(t, wanted, minimum_on)
                self._moving[i] = valve
                if valve.changes and valve.changes[0][0] < until:
                    until = valve.changes[0][0]
        self._steady_until = until
        self._taken = _frozen(np.array([valve.commanded for valve in self._valves]))
        self._next_close = min([valve.close_at for valve in self._valves])
        return self._taken


class _OneValve:
    """One valve: its opening at a moment, and the changes that are still to come."""

    __slots__ = ("at", "changes", "close_at", "commanded", "delay", "level", "opened", "rise", "target")

    def __init__(self, valve: Valve) -> None:
        self.delay, self.rise = valve.delay_s, valve.rise_s
        self.commanded = 0.0
        self.opened = -inf
        #: when a postponed close is due
        self.close_at = inf
        self.at = -inf
        self.level = 0.0
        self.target = 0.0
        #: when the target changes, and to what
        self.changes: deque[tuple[float, float]] = deque()

    def command(self, t: float, wanted: float, minimum: float) -> None:
        """Note the change of target that this command brings, if any."""
        if self.close_at <= t + SAME_TIME_S:
            if self.close_at > t:
                self.changes[-1] = (t + self.delay, 0.0)
            self.commanded, self.close_at = 0.0, inf
        if wanted > 0.0:
            self._call_off_close()
            if self.commanded == 0.0:
                self.opened = t
            if wanted != self.commanded:
                self.changes.append((t + self.delay, wanted))
                self.commanded = wanted
        elif self.commanded > 0.0:
            due = self.opened + minimum
            if due <= t + SAME_TIME_S:
                self._call_off_close()
                self.changes.append((t + self.delay, 0.0))
                self.commanded = 0.0
            elif self.close_at == inf:
                self.changes.append((due + self.delay, 0.0))
                self.close_at = due

    def _call_off_close(self) -> None:
        if self.close_at < inf:
            self.changes.pop()
            self.close_at = inf

    def mean(self, t0: float, t1: float) -> float:
        """Move on to t1; the average opening since t0."""
        if self.at < t0:
            self._move(self.at, t0)
        return self._move(t0, t1)

    def means(self, times: Sequence[float]) -> list[float]:
        """Move on through these times; the average opening from each to the next."""
        if self.at < times[0]:
            self._move(self.at, times[0])
        return [self._move(t0, t1) for t0, t1 in pairwise(times)]

    def _move(self, t0: float, t1: float) -> float:
        """Move on from t0 to t1; the average opening between them."""
        self.at = t1
        changes = self.changes
        if self.level == self.target and not (changes and changes[0][0] < t1):
            return self.level
        at, area = t0, 0.0
        while changes and changes[0][0] < t1:
            when, target = changes.popleft()
            if when > at:
                area += self._ramp(when - at)
                at = when
            self.target = target
        return (area + self._ramp(t1 - at)) / (t1 - t0)

    def _ramp(self, span: float) -> float:
        """Move towards the target for so long; the area under the opening."""
        gap = self.target - self.level
        needed = abs(gap) * self.rise
        if span >= needed:
            self.level = self.target
            return self.target * span - 0.5 * gap * needed
        start = self.level
        self.level = start + copysign(span / self.rise, gap)
        return 0.5 * (start + self.level) * span


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
