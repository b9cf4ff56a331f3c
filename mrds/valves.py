"""How a bank of valves answers its commands: dead time, linear rise and fall, shortest pulse.

A command given at t acts at t + delay_s; from then the opening moves towards the commanded one at the slope
1/rise_s, or in one step where rise_s is zero. A valve that has opened stays open for minimum_on_s: a close
that comes earlier is postponed to exactly that moment, and an open that comes before it calls the close off.

The opening is piecewise linear in time, so its average over any interval is exact: trapezoids between the
kinks. The controller uses it to predict what its command will deliver, the simulated plant to deliver it.
"""

from __future__ import annotations

from collections import deque
from math import copysign, inf

import numpy as np

from config.devices import Valve
from config.records import Array

#: two times closer than this are the same time [s]
SAME_TIME_S = 1e-9


class ValveBank:
    """`n` valves of one kind, all closed at first. Times may repeat from call to call but never go back."""

    def __init__(self, valve: Valve, n: int) -> None:
        self._valves = [_OneValve(valve) for _ in range(n)]
        self._minimum_on = valve.minimum_on_s
        self._told = np.zeros(n).tobytes()
        self._taken = _frozen(np.zeros(n))
        self._next_close = inf
        #: the opening of the valves that rest
        self._resting = _frozen(np.zeros(n))
        #: the others, and those not asked for their opening since they were told something
        self._moving: list[int] = []

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
        """The average opening of each valve from t0 to t1; what happened before t0 is forgotten."""
        if not self._moving:
            return self._resting
        mean = self._resting.copy()
        still_moving = []
        for i in self._moving:
            valve = self._valves[i]
            valve.advance(t0)
            mean[i] = valve.mean(t1)
            if not valve.rests():
                still_moving.append(i)
        if len(still_moving) < len(self._moving):
            self._moving = still_moving
            self._resting = _frozen(np.array([valve.level for valve in self._valves]))
        return mean

    def _tell(self, t: float, opening: Array, minimum_on: float) -> Array:
        for i, (valve, wanted) in enumerate(zip(self._valves, opening.tolist(), strict=True)):
            if wanted != valve.commanded or valve.close_at < inf:
                valve.command(t, wanted, minimum_on)
                if i not in self._moving:
                    self._moving.append(i)
        self._taken = _frozen(np.array([valve.commanded for valve in self._valves]))
        self._next_close = min(valve.close_at for valve in self._valves)
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

    def rests(self) -> bool:
        """Whether the opening stays as it is unless a command comes."""
        return not self.changes and self.level == self.target

    def advance(self, t: float) -> None:
        """Bring the opening to time t."""
        changes = self.changes
        while changes and changes[0][0] <= t:
            when, target = changes.popleft()
            if self.level != self.target:
                self.level, _ = self._ramp(self.level, self.target, when - self.at)
            self.at, self.target = when, target
        if self.level != self.target:
            self.level, _ = self._ramp(self.level, self.target, t - self.at)
        self.at = t

    def mean(self, t1: float) -> float:
        """The average opening from the moment it was advanced to until t1."""
        at, level, target, area = self.at, self.level, self.target, 0.0
        if t1 <= at:
            return level
        for when, next_target in self.changes:
            if when >= t1:
                break
            level, part = self._ramp(level, target, when - at)
            area += part
            at, target = when, next_target
        if level == target and at == self.at:
            return level
        _, part = self._ramp(level, target, t1 - at)
        return (area + part) / (t1 - self.at)

    def _ramp(self, level: float, target: float, span: float) -> tuple[float, float]:
        """The opening after `span`, and the area under it."""
        gap = target - level
        if gap == 0.0:
            return level, level * span
        needed = abs(gap) * self.rise
        if span >= needed:
            return target, target * span - 0.5 * gap * needed
        end = level + copysign(span / self.rise, gap)
        return end, 0.5 * (level + end) * span


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
