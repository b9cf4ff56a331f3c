"""A leg of a path through waypoints: a segment to the waypoint, then a hold.

For coordinates whose rate is the derivative of their position (u = q'): planar poses and joints.
"""

from __future__ import annotations

from typing import NamedTuple

from granite.config.errors import InputError
from granite.config.records import Array
from granite.controllers.trajectories.minimum_jerk import MinimumJerk
from granite.controllers.trajectories.segment import Segment
from granite.controllers.trajectories.trapezoidal import Trapezoidal


def refuse_long_ramp(ramp_s: float | None, duration_s: float) -> None:
    """Raise where both ramps together take longer than the leg."""
    if ramp_s is not None and ramp_s > duration_s / 2:
        half = f"at most half of duration_s, {duration_s / 2:g}"
        raise InputError(key="ramp_s", value=ramp_s, expected=half)


class Leg(NamedTuple):
    """Go to `target` in `duration_s`, then stay for `hold_s`."""

    target: Array  #: (n_q), NaN for a coordinate that stays where it was
    duration_s: float
    hold_s: float
    ramp_s: float | None = None  #: None: minimum jerk
    ramps: type[Segment] = Trapezoidal  #: the curve of a leg with ramps

    def segment(self, start: Array, end: Array, t0: float) -> Segment:
        """The motion of this leg from t0 on."""
        if self.ramp_s is None:
            return MinimumJerk(start, end, t0, self.duration_s)
        return self.ramps(start, end, t0, self.duration_s, self.ramp_s)
