"""A path through knots with position, rate and acceleration, joined by fifth-order polynomials: C2.

Between two knots a time h apart, with tau = (t - t_k) / h, D = q_1 - q_0, rates times h and accelerations times h^2:

    q = q_0 + u_0 tau + a_0 tau^2/2 + c_3 tau^3 + c_4 tau^4 + c_5 tau^5
    c_3 =  10 D - 6 u_0 - 4 u_1 - (3 a_0 - a_1)/2
    c_4 = -15 D + 8 u_0 + 7 u_1 + (3 a_0 - 2 a_1)/2
    c_5 =   6 D - 3 u_0 - 3 u_1 - (a_0 - a_1)/2

A cubic spline through the positions has these knots too, and is reproduced by them exactly.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from struct import Struct

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.kernels.compilation import compile_once, mode
from granite.kernels.kernel import Kernel

_NUMBERS = Struct("2d").pack


class SampledPath:
    """All coordinates at once; at rest at the last knot after it.

    Parameters
    ----------
    times
        Of the knots [s], ascending, at least two.
    motions
        (knots, 3, n): position, rate and acceleration of each coordinate at each knot.
    """

    def __init__(self, times: Array, motions: Array) -> None:
        self.times, self.motions = times, motions
        self._n = motions.shape[2]
        self._at, self._knots = times.tolist(), [np.ascontiguousarray(motion).ravel() for motion in motions]
        self._run = compiled(self._n).run
        self._last, self._rest = motions[-1, 0].copy(), np.zeros(self._n)
        for constant in (self._last, self._rest):
            constant.setflags(write=False)

    @property
    def end(self) -> float:
        """Time of the last knot [s]."""
        return float(self._at[-1])

    def stretched(self, factor: float) -> SampledPath:
        """The same path, slower by a factor from its first knot on."""
        scale = np.array([1.0, 1 / factor, 1 / factor**2])[:, None]
        return SampledPath(self.times[0] + (self.times - self.times[0]) * factor, self.motions * scale)

    def after(self, lead: float, start: Array) -> SampledPath:
        """The same path after a lead from rest at `start`, which begins at time zero."""
        first = np.array([start, np.zeros(self._n), np.zeros(self._n)])[None]
        times = np.concatenate(([0.0], lead + self.times - self.times[0]))
        return SampledPath(times, np.concatenate((first, self.motions)))

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Position, rate and acceleration at time t, which is not before the first knot."""
        if t >= self._at[-1]:
            return self._last, self._rest, self._rest
        k, n = max(bisect_right(self._at, t) - 1, 0), self._n
        begins = self._at[k]
        h = self._at[k + 1] - begins
        motion = self._run((self._knots[k], self._knots[k + 1], _NUMBERS((t - begins) / h, h)))
        return motion[:n], motion[n : 2 * n], motion[2 * n :]


def compiled(n: int) -> Kernel:
    """(knot before, knot after, [tau; h]) -> position, rate, acceleration of n coordinates."""
    return _compiled(n, mode())


@cache
def _compiled(n: int, mode: str) -> Kernel:
    return compile_once("sampled_path", str(n), lambda: [_function(n)])["sampled_path"]


def polynomial(before: ca.SX, after: ca.SX, tau: ca.SX, h: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Position, rate and acceleration between two knots."""
    n = before.numel() // 3
    (q0, u0, a0), (q1, u1, a1) = ca.vertsplit(before, n), ca.vertsplit(after, n)
    D, u0, u1, a0, a1 = q1 - q0, u0 * h, u1 * h, a0 * (h * h), a1 * (h * h)
    c3 = 10 * D - 6 * u0 - 4 * u1 - (3 * a0 - a1) / 2
    c4 = -15 * D + 8 * u0 + 7 * u1 + (3 * a0 - 2 * a1) / 2
    c5 = 6 * D - 3 * u0 - 3 * u1 - (a0 - a1) / 2
    q = q0 + tau * (u0 + tau * (a0 / 2 + tau * (c3 + tau * (c4 + tau * c5))))
    u = (u0 + tau * (a0 + tau * (3 * c3 + tau * (4 * c4 + tau * 5 * c5)))) / h
    a = (a0 + tau * (6 * c3 + tau * (12 * c4 + tau * 20 * c5))) / (h * h)
    return q, u, a


def _function(n: int) -> ca.Function:
    before, after, numbers = ca.SX.sym("before", 3 * n), ca.SX.sym("after", 3 * n), ca.SX.sym("numbers", 2)
    motion = polynomial(before, after, *ca.vertsplit(numbers))
    return ca.Function("sampled_path", [before, after, numbers], list(motion))
