"""The fifth-order path from rest to rest that has the least jerk (Stanford report of 1987, section 4.4.4).

With the amplitude A = end - start and tau = (t - t0) / t_f:

    q   = start + A (6 tau^5 - 15 tau^4 + 10 tau^3)          the report prints a dot on this q, wrongly
    q'  = (A/t_f)   (30 tau^4 - 60 tau^3 + 30 tau^2)
    q'' = (A/t_f^2) (120 tau^3 - 180 tau^2 + 60 tau)

Rate and acceleration are zero at both ends; they peak at 1.875 A/t_f and 5.7735 A/t_f^2.
"""

from __future__ import annotations

import numpy as np

from config.records import Array


class MinimumJerk:
    """One segment for all coordinates at once; at rest before it begins and after it ends."""

    def __init__(self, start_q: Array, end_q: Array, t0: float, duration: float) -> None:
        self._start, self._end = start_q.copy(), end_q.copy()
        self._amplitude = end_q - start_q
        self._t0, self._duration = t0, duration
        self._rest = np.zeros(len(start_q))
        for constant in (self._start, self._end, self._rest):
            constant.setflags(write=False)

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Position, rate and acceleration at time t."""
        tau = (t - self._t0) / self._duration
        if tau <= 0.0:
            return self._start, self._rest, self._rest
        if tau >= 1.0:
            return self._end, self._rest, self._rest
        amplitude, per_s = self._amplitude, 1.0 / self._duration
        square, left = tau * tau, 1.0 - tau
        return (
            self._start + amplitude * (square * tau * (10.0 + tau * (6.0 * tau - 15.0))),
            amplitude * (30.0 * square * left * left * per_s),
            amplitude * (60.0 * tau * left * (1.0 - 2.0 * tau) * per_s * per_s),
        )
