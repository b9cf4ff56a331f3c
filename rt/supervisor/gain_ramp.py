"""Gains of the law during a run: bounded, and changed along a ramp, so that the command does not jump."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.config.run_modes import Reply
from granite.config.testbed import Testbed
from granite.controllers.stack import ControlLaw

#: time of a change [s]
RAMP_S = 0.5


class GainRamp:
    """The gains that a law lists."""

    def __init__(self, bed: Testbed, law: ControlLaw) -> None:
        self._known = bed.controller.law.live_gains(bed) if bed.controller else ()
        self._tune = getattr(law, "tune", None)
        #: in force
        self.values: Array = np.array([gain.value for gain in self._known])
        self._from, self._to, self._began = self.values, self.values, 0.0
        #: a change is under way
        self.moving = False

    def aim(self, t: float, index: int, value: float) -> Reply:
        """Change a gain to the value from now on."""
        if self._tune is None or not 0 <= index < len(self._known):
            return Reply.NO_SUCH_GAIN
        gain = self._known[index]
        if not gain.lower <= value <= gain.upper:  # also NaN
            return Reply.OUT_OF_BOUNDS
        self._from, self._to, self._began = self.values, self._to.copy(), t
        self._to[index] = value
        self.moving = True
        return Reply.DONE

    def advance(self, t: float) -> None:
        """The gains of the tick at t."""
        part = min((t - self._began) / RAMP_S, 1.0)
        self.values = self._from + part * (self._to - self._from) if part < 1.0 else self._to
        self.moving = part < 1.0
        assert self._tune is not None
        self._tune(self.values)
