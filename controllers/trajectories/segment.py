"""A segment of a path: all coordinates from one pose to another in the same time, along a curve from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import ClassVar

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.kernels.compilation import compile_once, mode
from granite.kernels.kernel import Kernel

#: (part of the duration, ramp as a part of it) -> part of the way, and its two derivatives
Curve = Callable[[ca.SX, ca.SX], tuple[ca.SX, ca.SX, ca.SX]]

_NUMBERS = Struct("3d").pack


class Segment:
    """One segment for all coordinates at once; at rest before it begins and after it ends.

    A subclass gives the curve.

    Parameters
    ----------
    start_q, end_q
        Both poses.
    t0, duration
        When it begins, and how long it takes [s].
    ramp
        Time of the acceleration and of the deceleration [s]; 0 where the curve has none of its own.
    """

    #: label of the compiled function
    name: ClassVar[str]

    @staticmethod
    def curve(tau: ca.SX, ramp: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """(part of the duration, ramp as a part of it) -> part of the way, and its two derivatives."""
        raise NotImplementedError

    def __init__(self, start_q: Array, end_q: Array, t0: float, duration: float, ramp: float = 0.0) -> None:
        self._start, self._end = start_q.copy(), end_q.copy()
        self._amplitude = end_q - start_q
        self._t0, self._duration, self._ramp = t0, duration, ramp / duration
        self._n = len(start_q)
        self._run = self.compiled(self._n).run
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
        n, motion = self._n, self._run((self._start, self._amplitude, _NUMBERS(tau, self._duration, self._ramp)))
        return motion[:n], motion[n : 2 * n], motion[2 * n :]

    @classmethod
    def compiled(cls, n: int) -> Kernel:
        """(start, amplitude, [tau; duration; ramp]) -> position, rate, acceleration of n coordinates."""
        return _compiled(cls.name, cls.curve, n, mode())


@cache
def _compiled(name: str, curve: Curve, n: int, mode: str) -> Kernel:
    """One for all segments of a kind."""
    return compile_once(name, str(n), lambda: [_function(name, curve, n)])[name]


def motion(
    curve: Curve, start: ca.SX, amplitude: ca.SX, tau: ca.SX, duration: ca.SX, ramp: ca.SX
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Position, rate and acceleration."""
    way, rate, acceleration = curve(tau, ramp)
    return start + amplitude * way, amplitude * (rate / duration), amplitude * (acceleration / (duration * duration))


def _function(name: str, curve: Curve, n: int) -> ca.Function:
    start, amplitude, numbers = ca.SX.sym("start", n), ca.SX.sym("amplitude", n), ca.SX.sym("numbers", 3)
    return ca.Function(name, [start, amplitude, numbers], list(motion(curve, start, amplitude, *ca.vertsplit(numbers))))
