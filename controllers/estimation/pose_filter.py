"""Late pictures of the floating base, each taken in at the time it was exposed.

Every coordinate is a double integrator driven by the model's acceleration plus white noise of density s:

    Phi(d) = [1 d; 0 1],   Q(d) = s^2 [d^3/3 d^2/2; d^2/2 d]

A picture exposed at t_m corrects the state of t_m. Because the system is linear, that correction moves every later
state by Phi(t - t_m) times it: the past is mended and the present is what it would be had the picture come at once. The
covariance is kept at the last exposure and carried forward in closed form, so nothing is propagated twice.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from struct import Struct

import casadi as ca
import numpy as np

from config.records import Array
from mrds.compilation import compile_functions
from mrds.kernel import slot

#: how far back a picture may reach [s]
MEMORY_S = 1.0
#: what is known of the velocity before anything is measured [m/s, rad/s]
FIRST_RATE_DEVIATION = 0.05

_NUMBERS = Struct("2d").pack


class PoseFilter:
    """Kalman filter of x, y and heading with a past of one second.

    The past holds motions: pose (3), velocity (3), and the acceleration (3) of the step that led there.
    """

    def __init__(self, noise: Array, process_noise: Array, period: float) -> None:
        self._R = noise**2 + 1e-16
        process = process_noise**2
        #: (covariance, time since then) -> one standard deviation of the pose
        self.deviation_function = _deviation(process)
        kernels = compile_functions("pose_filter", [self.deviation_function, _correction(process, self._R)])
        self._deviation, self._correction = kernels["deviation"].run, kernels["correction"].run
        self._keep = int(MEMORY_S / period) + 2
        self._t, self._motion = np.zeros(2 * self._keep), np.zeros((2 * self._keep, 9))
        self._times, self._motions = slot(self._t), slot(self._motion)
        self._n = 0
        #: whether a picture has come
        self.started = False
        #: exposure time of the newest picture taken in [s]; NaN before the first
        self.exposed = math.nan
        #: of position (3), of position with velocity (3), of velocity (3), at the last exposure
        self.covariance: Array = np.zeros(9)

    def deviation(self, t: float) -> Array:
        """One standard deviation of the pose at time t."""
        return self._deviation((self.covariance, np.array(t - self.exposed)))

    def start(self, t: float, exposed: float, pose: Array) -> Array:
        """The first picture, of a base at rest; the motion of now."""
        motion = np.concatenate((pose, np.zeros(6)))
        self.covariance = np.concatenate((self._R, np.zeros(3), np.full(3, FIRST_RATE_DEVIATION**2)))
        self.exposed, self.started = exposed, True
        self.push(exposed, motion)
        self.push(t, motion)
        return motion

    def push(self, t: float, motion: Array) -> None:
        """Remember the motion of time t."""
        n = self._n
        if n == len(self._t):
            n = self._forget()
        self._times[n] = t
        self._motions[9 * n : 9 * n + 9] = motion
        self._n = n + 1

    def correct(self, exposed: float, pose: Array) -> Array | None:
        """Take in a picture; the mended motion of now, or None if it is no newer than the last or beyond memory."""
        n, motion = self._n, self._motion
        k = bisect_right(self._times, exposed, 0, n) - 1
        if k < 0 or exposed <= self.exposed:
            return None
        d = exposed - self._times[k]
        following = motion[min(k + 1, n - 1)]
        numbers = _NUMBERS(d, exposed - self.exposed)
        found = self._correction((motion[k], following, pose, self.covariance, numbers))
        step, self.covariance, self.exposed = found[:6], found[6:], exposed
        # States from the exposure on get Phi(t_i - exposed) times the correction.
        later = slice(k if d == 0 else k + 1, n)
        motion[later, :6] += step
        motion[later, :3] += np.multiply.outer(self._t[later] - exposed, step[3:])
        mended: Array = motion[n - 1]
        return mended

    def _forget(self) -> int:
        """Keep the newest half of the past; how much that is."""
        keep = self._keep
        for past in (self._t, self._motion):
            past[:keep] = past[-keep:]
        return keep


def _deviation(process: Array) -> ca.Function:
    covariance, age = ca.SX.sym("P", 9), ca.SX.sym("age")
    position, _, _ = _carried(covariance, ca.if_else(age > 0, age, 0.0), process)
    return ca.Function("deviation", [covariance, age], [ca.sqrt(position)])


def _correction(process: Array, noise: Array) -> ca.Function:
    """(motion before a picture, motion after it, picture, covariance, [time since the former; time since the latter])
    -> (correction of pose and velocity at the exposure, covariance after it).
    """
    before, after, pose = ca.SX.sym("before", 9), ca.SX.sym("after", 9), ca.SX.sym("pose", 3)
    covariance, d, since = ca.SX.sym("P", 9), ca.SX.sym("d"), ca.SX.sym("since")
    x, v, _ = ca.vertsplit(before, 3)
    innovation = pose - (x + d * v + 0.5 * d * d * after[6:])
    innovation[2] = ca.remainder(innovation[2], 2 * math.pi)
    pp, pv, vv = _carried(covariance, since, process)
    g, h = pp / (pp + noise), pv / (pp + noise)
    mended = ca.vertcat((1 - g) * pp, (1 - g) * pv, vv - h * pv)
    given = [before, after, pose, covariance, ca.vertcat(d, since)]
    return ca.Function("correction", given, [ca.vertcat(g * innovation, h * innovation), mended])


def _carried(covariance: ca.SX, d: ca.SX, process: Array) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Phi P Phi^T + Q after d, for each coordinate."""
    pp, pv, vv = ca.vertsplit(covariance, 3)
    s = ca.DM(process)
    return pp + d * (2 * pv + d * vv) + s * d * d * d / 3, pv + d * vv + s * d * d / 2, vv + s * d
