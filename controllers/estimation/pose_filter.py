"""Pose and velocity of the floating base from late pictures, each taken in at the time it was exposed.

Every coordinate is a double integrator driven by the model's acceleration plus white noise of density s:

    Phi(d) = [1 d; 0 1],   Q(d) = s^2 [d^3/3 d^2/2; d^2/2 d]

A picture exposed at t_m corrects the state of t_m. Because the system is linear, that correction moves every later
state by Phi(t - t_m) times it: the past is mended and the present is what it would be had the picture come at once. The
covariance is kept at the last exposure and carried forward in closed form, so nothing is propagated twice.
"""

from __future__ import annotations

import math

import numpy as np

from config.records import Array

Covariance = tuple[float, float, float]

#: how far back a picture may reach [s]
MEMORY_S = 1.0
#: what is known of the velocity before anything is measured [m/s, rad/s]
FIRST_RATE_DEVIATION = 0.05


class PoseFilter:
    """Kalman filter of x, y and heading with a past of one second."""

    def __init__(self, noise: Array, process_noise: Array, period: float) -> None:
        self._R, self._S = (noise**2 + 1e-16).tolist(), (process_noise**2).tolist()
        self._capacity = int(MEMORY_S / period) + 2
        size = 2 * self._capacity
        self._t, self._x, self._v, self._a = (
            np.zeros(size),
            np.zeros((size, 3)),
            np.zeros((size, 3)),
            np.zeros((size, 3)),
        )
        self._n = 0
        self._exposed = math.nan
        #: of each coordinate at the last exposure: position, position-velocity and velocity covariance
        self._P: list[Covariance] = []

    @property
    def started(self) -> bool:
        """Whether a picture has come."""
        return self._n > 0

    @property
    def exposed(self) -> float:
        """Exposure time of the newest picture taken in [s]; NaN before the first."""
        return self._exposed

    @property
    def pose(self) -> Array:
        """Pose now."""
        newest: Array = self._x[self._n - 1]
        return newest

    @property
    def velocity(self) -> Array:
        """Velocity now."""
        newest: Array = self._v[self._n - 1]
        return newest

    def deviation(self, t: float) -> list[float]:
        """One standard deviation of the pose at time t."""
        return [math.sqrt(pp) for pp, _, _ in self._covariance(t)]

    def predict(self, t: float, acceleration: Array) -> None:
        """Forward to time t under an acceleration held since the last state."""
        if self._n == len(self._t):
            self._forget()
        k, n = self._n - 1, self._n
        dt = t - self._t[k]
        self._a[k] = acceleration
        self._t[n] = t
        change = dt * acceleration
        self._v[n] = self._v[k] + change
        self._x[n] = self._x[k] + dt * (self._v[k] + 0.5 * change)
        self._n = n + 1

    def correct(self, t: float, exposed: float, pose: Array) -> bool:
        """Take in a picture exposed by t, the time of the newest state; False if it is older than the last one."""
        if not self.started:
            self._start(t, exposed, pose)
            return True
        k = int(np.searchsorted(self._t[: self._n], exposed, side="right")) - 1
        if k < 0 or exposed <= self._exposed:
            return False
        d = exposed - self._t[k]
        innovation = pose - (self._x[k] + d * self._v[k] + 0.5 * d * d * self._a[k])
        innovation[2] = math.remainder(innovation[2], 2 * math.pi)
        step_x, step_v = self._gain(exposed) * innovation
        self._exposed = exposed
        # States from the exposure on get Phi(t_i - exposed) times the correction.
        first = k if d == 0 else k + 1
        later = slice(first, self._n)
        self._x[later] += step_x + np.multiply.outer(self._t[later] - exposed, step_v)
        self._v[later] += step_v
        return True

    def _start(self, t: float, exposed: float, pose: Array) -> None:
        self._t[0], self._x[0], self._v[0] = exposed, pose, 0.0
        self._n, self._exposed = 1, exposed
        self._P = [(r, 0.0, FIRST_RATE_DEVIATION**2) for r in self._R]
        self.predict(t, np.zeros(3))

    def _gain(self, exposed: float) -> Array:
        """Kalman gain of position and velocity for a picture; the covariance is then that after it."""
        gains, after = [], []
        for (pp, pv, vv), r in zip(self._covariance(exposed), self._R, strict=True):
            g, h = pp / (pp + r), pv / (pp + r)
            gains.append((g, h))
            after.append(((1 - g) * pp, (1 - g) * pv, vv - h * pv))
        self._P = after
        return np.array(gains).T

    def _covariance(self, t: float) -> list[Covariance]:
        """Phi P Phi^T + Q from the last exposure to t, for each coordinate."""
        d = max(t - self._exposed, 0.0)
        return [
            (pp + d * (2 * pv + d * vv) + s * d**3 / 3, pv + d * vv + s * d * d / 2, vv + s * d)
            for (pp, pv, vv), s in zip(self._P, self._S, strict=True)
        ]

    def _forget(self) -> None:
        """Keep the newest half of the past."""
        keep = self._capacity
        for past in (self._t, self._x, self._v, self._a):
            past[:keep] = past[self._n - keep : self._n]
        self._n = keep
