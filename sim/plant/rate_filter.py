"""The analogue rate filter behind an RVDT, stepped exactly for an angle that is linear between two steps."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from granite.config.records import Array


class RateFilter:
    """ab s/((s+a)(s+b)), as two first-order stages (Stanford report, section 2.2).

    The first stage follows the angle and lags behind it by lag' = angle' - a lag; the second one smooths
    its output: rate' = b (a lag - rate). Neither depends on the angle itself, only on its change.
    """

    def __init__(self, a: float, b: float, step_s: float) -> None:
        self._a, self._b, self._step_s = a, b, step_s

    @cached_property
    def _transition(self) -> tuple[list[float], ...]:
        """Of lag and rate, from lag, rate and turn.

        Over a step the angle turns at a constant rate, so lag and rate follow linear equations with constant
        coefficients: their exact solution is a matrix exponential, with the turn as a third, constant state.
        """
        from scipy.linalg import expm  # slow to import; not needed where the plant is in the cache

        a, b, h = self._a, self._b, self._step_s
        flow = np.array([[-a * h, 0.0, 1.0], [a * b * h, -b * h, 0.0], [0.0, 0.0, 0.0]])
        return tuple(expm(flow)[:2].tolist())

    def steady_lag(self, rate: Array) -> Array:
        """The lag [rad] in the steady state at this rate [rad/s]: without a transient."""
        return rate / self._a

    def step(self, lag: Any, rate: Any, turn: Any) -> tuple[Any, Any]:
        """Lag and filtered rate one step later, when the angle has changed by `turn` [rad]; numbers or symbols."""
        (lag_lag, _, lag_turn), (rate_lag, rate_rate, rate_turn) = self._transition
        return lag_lag * lag + lag_turn * turn, rate_lag * lag + rate_rate * rate + rate_turn * turn
