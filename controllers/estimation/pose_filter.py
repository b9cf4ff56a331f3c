"""Late pictures of the floating base, each taken in at the time it was exposed.

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
from mrds.kernel import slot

Covariance = tuple[float, float, float]

#: how far back a picture may reach [s]
MEMORY_S = 1.0
#: what is known of the velocity before anything is measured [m/s, rad/s]
FIRST_RATE_DEVIATION = 0.05


class PoseFilter:
    """Kalman filter of x, y and heading with a past of one second.

    The past holds motions: pose (3), velocity (3), and the acceleration (3) of the step that led there.
    """

    def __init__(self, noise: Array, process_noise: Array, period: float) -> None:
        self._R, self._S = (noise**2 + 1e-16).tolist(), (process_noise**2).tolist()
        self._keep = int(MEMORY_S / period) + 2
        self._t, self._motion = np.zeros(2 * self._keep), np.zeros((2 * self._keep, 9))
        self._motions = slot(self._motion)
        self._n = 0
        #: whether a picture has come
        self.started = False
        #: exposure time of the newest picture taken in [s]; NaN before the first
        self.exposed = math.nan
        #: of each coordinate at the last exposure: position, position-velocity and velocity covariance
        self._P: list[Covariance] = []

    def deviation(self, t: float) -> list[float]:
        """One standard deviation of the pose at time t."""
        d = max(t - self.exposed, 0.0)
        c = d * d * d / 3
        return [math.sqrt(pp + d * (2 * pv + d * vv) + s * c) for (pp, pv, vv), s in zip(self._P, self._S, strict=True)]

    def start(self, t: float, exposed: float, pose: Array) -> Array:
        """The first picture, of a base at rest; the motion of now."""
        motion = np.concatenate((pose, np.zeros(6)))
        self._P = [(r, 0.0, FIRST_RATE_DEVIATION**2) for r in self._R]
        self.exposed, self.started = exposed, True
        self.push(exposed, motion)
        self.push(t, motion)
        return motion

    def push(self, t: float, motion: Array) -> None:
        """Remember the motion of time t."""
        n = self._n
        if n == len(self._t):
            n = self._forget()
        self._t[n] = t
        self._motions[9 * n : 9 * n + 9] = motion
        self._n = n + 1

    def correct(self, exposed: float, pose: Array) -> Array | None:
        """Take in a picture; the mended motion of now, or None if it is no newer than the last or beyond memory."""
        now = self._n - 1
        k = int(np.searchsorted(self._t[: self._n], exposed, side="right")) - 1
        if k < 0 or exposed <= self.exposed:
            return None
        d, step = exposed - self._t[k], self._motion[min(k + 1, now)]
        x, v = self._motion[k, :3], self._motion[k, 3:6]
        innovation = pose - (x + d * v + 0.5 * d * d * step[6:])
        innovation[2] = math.remainder(innovation[2], 2 * math.pi)
        step_x, step_v = self._gain(exposed) * innovation
        self.exposed = exposed
        # States from the exposure on get Phi(t_i - exposed) times the correction.
        later = slice(k if d == 0 else k + 1, self._n)
        self._motion[later, :3] += step_x + np.multiply.outer(self._t[later] - exposed, step_v)
        self._motion[later, 3:6] += step_v
        mended: Array = self._motion[now]
        return mended

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
        d = max(t - self.exposed, 0.0)
        return [
            (pp + d * (2 * pv + d * vv) + s * d * d * d / 3, pv + d * vv + s * d * d / 2, vv + s * d)
            for (pp, pv, vv), s in zip(self._P, self._S, strict=True)
        ]

    def _forget(self) -> int:
        """Keep the newest half of the past; how much that is."""
        keep = self._keep
        for past in (self._t, self._motion):
            past[:keep] = past[-keep:]
        return keep
