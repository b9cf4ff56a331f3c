"""A leg of a path through waypoints: a segment to the waypoint, then a hold.

For coordinates whose rate is the derivative of their position (u = q'): planar poses and joints.
"""

from __future__ import annotations

from typing import NamedTuple

from granite.config.records import Array
from granite.controllers.trajectories.minimum_jerk import MinimumJerk
from granite.controllers.trajectories.segment import Segment
from granite.controllers.trajectories.trapezoidal import Trapezoidal


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
