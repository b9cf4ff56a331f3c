"""Which grips hold when: the part of every behaviour that takes hold and lets go."""

from __future__ import annotations

import numpy as np

from granite.config.records import NOTHING, Array
from granite.config.testbed import Testbed
from granite.mrds.tolerances import SAME_TIME_S


class Holds:
    """The holds of a testbed over time."""

    def __init__(self, bed: Testbed) -> None:
        grips, holds = bed.grips, bed.behaviour.holds
        self._from = [hold.from_s for hold in holds]
        self._grip = [_frozen(np.array([float(name in hold.closed) for name in grips])) for hold in holds]
        self._now = 0

    def at(self, t: float) -> Array:
        """Of each grip, 1 to hold, 0 to let go; t must not go back."""
        if not self._from:
            return NOTHING
        while self._now + 1 < len(self._from) and self._from[self._now + 1] <= t + SAME_TIME_S:
            self._now += 1
        return self._grip[self._now]


def _frozen(array: Array) -> Array:
    array.setflags(write=False)
    return array
