"""The analogue rate filter behind an RVDT, stepped exactly for an angle that is linear between two steps."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm


class RateFilter:
    """ab s/((s+a)(s+b)), as two low-pass stages (Stanford report, section 2.2).

    With w1' = a (angle - w1) and w2' = b (w1 - w2) the rate is w2' = b (w1 - w2). It starts as if the angle
    had always moved at its first rate, so that there is no transient.
    """

    def __init__(self, a: float, b: float, step_s: float, angle: float, rate: float) -> None:
        self._b = b
        self._angle = angle
        self._w1 = angle - rate / a
        self._w2 = self._w1 - rate / b
        # First-order hold: states w1, w2, the angle at the start of the step, and its change over the step
        # (Franklin, Powell & Workman, Digital Control of Dynamic Systems: non-causal first-order hold).
        flow = np.zeros((4, 4))
        flow[0, [0, 2]] = -a * step_s, a * step_s
        flow[1, [0, 1]] = b * step_s, -b * step_s
        flow[2, 3] = 1.0
        stage_1, stage_2 = expm(flow)[:2].tolist()
        self._f11, _, self._g1, self._r1 = stage_1
        self._f21, self._f22, self._g2, self._r2 = stage_2

    def step(self, angle: float) -> None:
        """One step on, to this angle [rad]."""
        start, w1, w2 = self._angle, self._w1, self._w2
        change = angle - start
        self._w1 = self._f11 * w1 + self._g1 * start + self._r1 * change
        self._w2 = self._f21 * w1 + self._f22 * w2 + self._g2 * start + self._r2 * change
        self._angle = angle

    @property
    def rate(self) -> float:
        """What the filter gives out now [rad/s]."""
        return self._b * (self._w1 - self._w2)
