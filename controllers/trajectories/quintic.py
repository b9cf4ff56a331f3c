"""Fifth-order polynomials between two motions: position, rate and acceleration given at both ends."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array

#: rows: position, rate, acceleration at tau = 0 and tau = 1; columns: powers of tau
_ENDS = np.array(
    [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0],
     [1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 5], [0, 0, 2, 6, 12, 20]], dtype=float,
)  # fmt: skip
_COEFFICIENTS = np.linalg.inv(_ENDS)
#: from the coefficients of a polynomial to those of its derivative
_DERIVATIVE = np.diag(np.arange(1.0, 6.0), 1)


class Quintic:
    """All coordinates at once; before t0 and after the end it continues at constant rate.

    Parameters
    ----------
    t0
        When it begins [s].
    duration
        How long it takes [s].
    start, end
        Positions, rates and accelerations of the coordinates.
    """

    def __init__(
        self, t0: float, duration: float, start: tuple[Array, Array, Array], end: tuple[Array, Array, Array]
    ) -> None:
        scale = np.array([1.0, duration, duration**2])[:, None]
        given = np.vstack([np.array(start) * scale, np.array(end) * scale])
        c, self.t0, self.duration, self._n = _COEFFICIENTS @ given, t0, duration, len(start[0])
        #: of positions, a column for each coordinate, of powers of (t - t0) / duration
        self.coefficients: Array = c
        rate = _DERIVATIVE @ c / duration
        #: coefficients of positions, rates and accelerations side by side
        self._c = np.hstack([c, rate, _DERIVATIVE @ rate / duration])
        self._first, self._last = start, end
        self.end_s = t0 + duration

    @classmethod
    def to_rest(cls, t0: float, duration: float, x: Array, v: Array, goal: Array) -> Quintic:
        """From x and v to rest at the goal."""
        rest = np.zeros(len(goal))
        return cls(t0, duration, (x, v, rest), (goal, rest, rest))

    @classmethod
    def speed_change(cls, t0: float, duration: float, x: Array, v: Array, after: Array) -> Quintic:
        """From x and v to another velocity, along the mean of both for that time: the rate has no overshoot."""
        rest = np.zeros(len(x))
        return cls(t0, duration, (x, v, rest), (x + duration * (v + after) / 2, after, rest))

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Position, rate and acceleration at time t."""
        tau, n = (t - self.t0) / self.duration, self._n
        if not 0.0 <= tau <= 1.0:
            (x, v, a), since = (self._first, t - self.t0) if tau < 0 else (self._last, t - self.end_s)
            return x + since * v, v, np.zeros(len(a))
        square = tau * tau
        cube = square * tau
        motion: Array = np.array((1.0, tau, square, cube, square * square, square * cube)) @ self._c
        return motion[:n], motion[n : 2 * n], motion[2 * n :]
