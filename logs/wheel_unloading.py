"""When thrusters begin and end to unload a yaw wheel, from the rows of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.logs.channels import Channels


class Unloading(NamedTuple):
    """A change, with the wheel's rate."""

    t: float
    tick: int
    begins: bool
    wheel: str
    rate_rad_s: float

    @property
    def sentence(self) -> str:
        """The change in words."""
        what = "begin" if self.begins else "have ended"
        return f"the thrusters {what} to unload {self.wheel}, which turns at {self.rate_rad_s:.3g} rad/s"


class UnloadingChanges:
    """Finds the changes in successive rows."""

    def __init__(self, bed: Testbed, channels: Channels) -> None:
        wheel = bed.controller.allocation.yaw_wheel if bed.controller else None
        self._wheel, self._before = wheel.joint if wheel else "", 0.0
        if wheel:
            u = channels.columns("/state", "u")
            assert isinstance(u, slice)
            self._columns = [
                channels.column("/sample", "t_s"),
                channels.column("/timing", "tick"),
                channels.column("/command", f"{wheel.joint}_unloading"),
                u.start + bed.known.joint_u(wheel.joint),
            ]

    def look(self, rows: Array) -> list[Unloading]:
        """Every change in the rows."""
        if not self._wheel or not len(rows):
            return []
        seen = rows[:, self._columns]
        before = np.concatenate(([self._before], seen[:-1, 2]))
        self._before = float(seen[-1, 2])
        return [
            Unloading(t, int(tick), bool(now), self._wheel, rate)
            for t, tick, now, rate in seen[seen[:, 2] != before].tolist()
        ]
