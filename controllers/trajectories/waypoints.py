"""A path through waypoints: a segment to each, then a hold.

For coordinates whose rate is the derivative of their position (u = q'): planar poses and joints.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from granite.config.records import Array
from granite.controllers.trajectories.minimum_jerk import MinimumJerk
from granite.controllers.trajectories.segment import Segment
from granite.controllers.trajectories.trapezoidal import Trapezoidal
from granite.mrds.tolerances import SAME_TIME_S


class Leg(NamedTuple):
    """Go to `target` in `duration_s`, then stay for `hold_s`."""

    target: Array  #: (n_q), NaN for a coordinate that stays where it was
    duration_s: float
    hold_s: float
    ramp_s: float | None = None  #: of a trapezoidal velocity; None: minimum jerk

    def segment(self, start: Array, end: Array, t0: float) -> Segment:
        """The motion of this leg from t0 on."""
        if self.ramp_s is None:
            return MinimumJerk(start, end, t0, self.duration_s)
        return Trapezoidal(start, end, t0, self.duration_s, self.ramp_s)


class WaypointPath:
    """The legs in turn, from `start` at time zero. A path without legs stays at its start, never done."""

    def __init__(self, start: Array, legs: Sequence[Leg]) -> None:
        self.start = start
        #: when each leg begins, and when the last hold is over [s]
        self.begins: list[float] = []
        self.end: float
        self._segments: list[Segment] = []
        t, here = 0.0, start
        for leg in legs:
            there = np.where(np.isnan(leg.target), here, leg.target)
            self.begins.append(t)
            self._segments.append(leg.segment(here, there, t))
            t, here = t + leg.duration_s + leg.hold_s, there
        if not legs:
            self.begins, self._segments = [0.0], [MinimumJerk(start, start, 0.0, 1.0)]
        self.end = t - SAME_TIME_S if legs else inf

    def at(self, t: float) -> tuple[Array, Array, Array, bool]:
        """Position, rate and acceleration at time t since the start, and whether the last hold is over."""
        leg = max(bisect_right(self.begins, t) - 1, 0)
        q, u, a = self._segments[leg].at(t)
        return q, u, a, t >= self.end
