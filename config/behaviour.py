"""What a testbed is told to do: where to go, or which torques to give, and what to hold meanwhile."""

from __future__ import annotations

import math

from pydantic import Field, model_validator

from granite.config.base import Name, NotNegative, Positive, Table
from granite.config.contacts import Moment


class Waypoint(Table):
    """Go to `target` in `duration_s` along a minimum-jerk path, then stay for `hold_s`."""

    duration_s: Positive
    hold_s: NotNegative = 0.0
    #: by coordinate key, for instance base_x_m or elbow_rad; what is not named stays where it was
    target: dict[str, float]


class TorqueProfile(Moment):
    """The moment of a motor, from `from_s` until `until_s`; zero elsewhere."""

    from_s: NotNegative = 0.0
    until_s: Positive | None = None

    def at(self, t: float) -> float:
        """The torque at a time [N m]."""
        if t < self.from_s or (self.until_s is not None and t >= self.until_s):
            return 0.0
        swing = math.sin(2 * math.pi * t / self.period_s + self.phase_rad) if self.period_s else 0.0
        return self.offset_n_m + self.amplitude_n_m * swing


class Hold(Table):
    """From `from_s` on these contacts are to be closed, and no others."""

    from_s: NotNegative
    closed: tuple[Name, ...]


class Behaviour(Table):
    """What to do: the waypoints in turn, or torques over time where there is no controller.

    Without waypoints a controller holds the pose it starts in; without torques everything moves freely.
    """

    waypoints: tuple[Waypoint, ...] = ()
    #: by joint
    torques: dict[str, TorqueProfile] = Field(default_factory=dict)
    #: which contacts are closed when; none: all of them, all the time
    holds: tuple[Hold, ...] = ()

    @model_validator(mode="after")
    def _holds_follow_each_other(self) -> Behaviour:
        for i, hold in enumerate(self.holds):
            if i == 0 and hold.from_s != 0:
                raise ValueError(f"holds.0.from_s = {hold.from_s}: expected 0, for the run begins with it")
            if i > 0 and hold.from_s <= self.holds[i - 1].from_s:
                before = self.holds[i - 1].from_s
                raise ValueError(f"holds.{i}.from_s = {hold.from_s}: expected more than {before}, when the last began")
        return self
