"""A behaviour that continues after a pause, without a jump of the reference.

Its time tau stood still and gets up to speed again, and the offset d between the pose that was held and its reference
fades, both by polynomials of s = (t - t0)/T (minimum jerk for the offset):

    tau' = 3 s^2 - 2 s^3,   f = 1 - 10 s^3 + 15 s^4 - 6 s^5
    q = q_b(tau) + d f,   u = u_b tau' + d f',   a = a_b tau'^2 + u_b tau'' + d f''

T is so long that both take at most half of the deceleration of the brake.
"""

from __future__ import annotations

import math

import numpy as np

from granite.config.records import Array, Reference, State, new
from granite.controllers.stack import Decides

#: largest f'' and tau'' for d = 1 and T = 1
_PEAK_OFFSET, _PEAK_TIME = 10 / math.sqrt(3), 1.5
_SHORTEST_S = 1.0


class Resumed:
    """A behaviour after a pause.

    Parameters
    ----------
    behaviour
        As it was before the first pause.
    tau
        Its time when it was paused [s].
    q
        The pose that was held.
    most
        Largest acceleration of each coordinate on the way back; zero: the coordinate is not moved.
    """

    def __init__(self, behaviour: Decides, tau: float, q: Array, most: Array) -> None:
        self._behaviour, self._tau, self._from, self._most = behaviour, tau, q, most
        self._t0 = math.nan
        self._offset: Array = np.zeros(len(q))
        self._takes = _SHORTEST_S

    def time(self, t: float) -> float:
        """Time of the behaviour."""
        if math.isnan(self._t0):
            return self._tau
        s = (t - self._t0) / self._takes
        return self._tau + self._takes * (s**3 * (1 - s / 2) if s < 1 else s - 0.5)

    def decide(self, state: State) -> Reference:
        """The reference at the time of the state."""
        _, q, u, a, done, direct, task = self._behaviour.decide(state._replace(t=self.time(state.t)))
        if math.isnan(self._t0):
            self._begin(state.t, q, u)
        s, rate, d = (state.t - self._t0) / self._takes, 1 / self._takes, self._offset
        if s < 1.0:
            speed = s * s * (3 - 2 * s)
            q = q + d * (1 - s**3 * (10 - 15 * s + 6 * s * s))
            a = a * speed**2 + u * (6 * s * (1 - s) * rate) - d * (rate**2 * 60 * s * (1 - s) * (1 - 2 * s))
            u = u * speed - d * (rate * 30 * s**2 * (1 - s) ** 2)
        return new(Reference, (state.t, q, u, a, done, direct, task))

    def _begin(self, t: float, q: Array, u: Array) -> None:
        moved = self._most > 0
        self._t0, self._offset = t, np.where(moved, self._from - q, 0.0)
        allowed = np.where(moved, self._most / 2, np.inf)
        far, fast = (float((np.abs(part) / allowed).max(initial=0.0)) for part in (self._offset, u))
        self._takes = max(_SHORTEST_S, math.sqrt(_PEAK_OFFSET * far), _PEAK_TIME * fast)
