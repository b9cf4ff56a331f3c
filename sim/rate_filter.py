"""The analogue rate filter behind an RVDT, stepped exactly for an angle that is linear between two steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import expm

from granite.config.records import Array


class RateFilter:
    """ab s/((s+a)(s+b)), as two first-order stages (Stanford report, section 2.2).

    The first stage follows the angle and lags behind it by lag' = angle' - a lag; the second one smooths what
    that makes of the rate: rate' = b (a lag - rate). Neither knows the angle itself, only how it turns.
    """

    def __init__(self, a: float, b: float, step_s: float) -> None:
        self._a = a
        # Over a step the angle turns at a constant rate, so lag and rate follow linear equations with constant
        # coefficients: their exact solution is a matrix exponential, with the turn as a third, constant state.
        flow = np.array([[-a * step_s, 0.0, 1.0], [a * b * step_s, -b * step_s, 0.0], [0.0, 0.0, 0.0]])
        (self._lag_lag, _, self._lag_turn), (self._rate_lag, self._rate_rate, self._rate_turn), _ = expm(flow).tolist()

    def steady_lag(self, rate: Array) -> Array:
        """The lag [rad] when the angle has always moved at this rate [rad/s]: there is no transient then."""
        return rate / self._a

    def step(self, lag: Any, rate: Any, turn: Any) -> tuple[Any, Any]:
        """Lag and filtered rate one step later, when the angle has turned by so much [rad]; numbers or symbols."""
        return (
            self._lag_lag * lag + self._lag_turn * turn,
            self._rate_lag * lag + self._rate_rate * rate + self._rate_turn * turn,
        )
