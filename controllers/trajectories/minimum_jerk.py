"""Minimum-jerk path: the fifth-order polynomial from rest to rest (Stanford report of 1987, section 4.4.4).

With the amplitude A = end - start and tau = (t - t0) / t_f:

    q   = start + A (6 tau^5 - 15 tau^4 + 10 tau^3)          the report prints a dot on this q, wrongly
    q'  = (A/t_f)   (30 tau^4 - 60 tau^3 + 30 tau^2)
    q'' = (A/t_f^2) (120 tau^3 - 180 tau^2 + 60 tau)

Rate and acceleration are zero at both ends; they peak at 1.875 A/t_f and 5.7735 A/t_f^2.
"""

from __future__ import annotations

from functools import cache
from struct import Struct

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.mrds.compilation import compile_once, mode
from granite.mrds.kernel import Kernel

_TIMES = Struct("2d").pack


class MinimumJerk:
    """One segment for all coordinates at once; at rest before it begins and after it ends."""

    def __init__(self, start_q: Array, end_q: Array, t0: float, duration: float) -> None:
        self._start, self._end = start_q.copy(), end_q.copy()
        self._amplitude = end_q - start_q
        self._t0, self._duration = t0, duration
        self._n = len(start_q)
        self._run = compiled(self._n, mode()).run
        self._rest = np.zeros(self._n)
        for constant in (self._start, self._end, self._rest):
            constant.setflags(write=False)

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Position, rate and acceleration at time t."""
        tau = (t - self._t0) / self._duration
        if tau <= 0.0:
            return self._start, self._rest, self._rest
        if tau >= 1.0:
            return self._end, self._rest, self._rest
        n, found = self._n, self._run((self._start, self._amplitude, _TIMES(tau, self._duration)))
        return found[:n], found[n : 2 * n], found[2 * n :]


@cache
def compiled(n: int, mode: str) -> Kernel:
    """(start, amplitude, [tau; duration]) -> position, rate, acceleration of n coordinates; one for all segments."""
    return compile_once("minimum_jerk", str(n), lambda: [_function(n)])["minimum_jerk"]


def _function(n: int) -> ca.Function:
    start, amplitude = ca.SX.sym("start", n), ca.SX.sym("amplitude", n)
    tau, duration = ca.SX.sym("tau"), ca.SX.sym("duration")
    square, left = tau * tau, 1 - tau
    q = start + amplitude * (square * tau * (10 + tau * (6 * tau - 15)))
    u = amplitude * (30 * square * left * left / duration)
    a = amplitude * (60 * tau * left * (1 - 2 * tau) / (duration * duration))
    return ca.Function("minimum_jerk", [start, amplitude, ca.vertcat(tau, duration)], [q, u, a])
