"""A behaviour that begins again: first back to its first pose, then the same motion as before.

The reference goes from the pose q0 that was held to the behaviour's first pose q1 with minimum jerk, in T, stays
there for `SETTLING_S`, and then follows the behaviour, whose time tau stood still until then:

    q = q1 + (q0 - q1) f,   f = 1 - 10 s^3 + 15 s^4 - 6 s^5,   s = (t - t0)/T

T is so long that the way back takes at most half of the deceleration of the brake.
"""

from __future__ import annotations

import math

import numpy as np

from granite.config.records import Reference, State, new
from granite.controllers.behaviours.resuming import Resumed

#: at the first pose, so that every repetition begins at rest [s]
SETTLING_S = 2.0


class Repeated(Resumed):
    """A behaviour that begins again at its time `tau`, when it is at rest; see `Resumed`."""

    def time(self, t: float) -> float:
        """Time of the behaviour."""
        return self._tau if math.isnan(self._t0) else self._tau + max(0.0, t - self._t0 - self._takes - SETTLING_S)

    def decide(self, state: State) -> Reference:
        """The reference at the time of the state."""
        tau = self.time(state.t)
        _, q, u, a, done, direct, task = self._behaviour.decide(state._replace(t=tau))
        if math.isnan(self._t0):
            self._begin(state.t, q, np.zeros_like(u))
        if tau > self._tau:
            return new(Reference, (state.t, q, u, a, done, direct, task))
        s, rate, d = min((state.t - self._t0) / self._takes, 1.0), 1 / self._takes, self._offset
        q = q + d * (1 - s**3 * (10 - 15 * s + 6 * s * s))
        u = -d * (rate * 30 * s**2 * (1 - s) ** 2)
        a = -d * (rate**2 * 60 * s * (1 - s) * (1 - 2 * s))
        return new(Reference, (state.t, q, u, a, False, direct, task))
