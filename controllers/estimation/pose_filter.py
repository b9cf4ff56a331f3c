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

_NUMBERS = Struct("5d").pack
_NOTHING_OWED: Array = np.zeros(18)


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
        #: corrections that the past does not show yet: the number of moments that lack it, and what to add
        self._owed: list[tuple[int, Array]] = []
        #: whether a picture has come
        self.started = False
        #: exposure time of the newest picture taken in [s]; NaN before the first
        self.exposed = math.nan
        #: of position (3), of position with velocity (3), of velocity (3), at the last exposure
        self.covariance: Array = np.zeros(9)
        #: one standard deviation of the pose when the last picture was taken in (3)
        self.mended_deviation: Array = np.zeros(3)

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
        self.mended_deviation = self.deviation(t)
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
        # Pictures come in turn, so none will ask for moments before this one.
        self._owed = [owed for owed in self._owed if owed[0] > k]
        following, times = min(k + 1, n - 1), self._times
        numbers = _NUMBERS(times[k], times[following], times[n - 1], exposed, self.exposed)
        raw = motion[k], motion[following], motion[n - 1]
        found = self._correction((*raw, self._owed_to(k), self._owed_to(following), pose, self.covariance, numbers))
        self.covariance, self.mended_deviation, self.exposed = found[18:27], found[27:30], exposed
        self._owed.append((n, found[:18]))
        return found[30:]

    def _owed_to(self, k: int) -> Array:
        """What all corrections that moment k lacks would add."""
        total = _NOTHING_OWED
        for n, added in self._owed:
            if n > k:
                total = total + added
        return total

    def _forget(self) -> int:
        """Keep the newest half of the past; how much that is."""
        keep = self._keep
        for past in (self._t, self._motion):
            past[:keep] = past[-keep:]
        self._owed = [(n - keep, added) for n, added in self._owed]
        return keep


def _deviation(process: Array) -> ca.Function:
    covariance, age = ca.SX.sym("P", 9), ca.SX.sym("age")
    position, _, _ = _carried(covariance, ca.if_else(age > 0, age, 0.0), process)
    return ca.Function("deviation", [covariance, age], [ca.sqrt(position)])


def _correction(process: Array, noise: Array) -> ca.Function:
    """(motion before a picture, motion after it, motion of now, what is owed to the first two, picture, covariance,
    [times of these motions, of this exposure and of the last]) -> what is added to motions, [1 t] times two rows;
    covariance at the exposure; standard deviation of the pose now; motion of now.

    From the exposure on, motions get Phi(t - exposure) times the correction; the past is told when it is asked.
    """
    before, after, now = (ca.SX.sym(name, 9) for name in ("before", "after", "now"))
    owed_before, owed_after = ca.SX.sym("owed_before", 18), ca.SX.sym("owed_after", 18)
    pose, covariance, numbers = ca.SX.sym("pose", 3), ca.SX.sym("P", 9), ca.SX.sym("numbers", 5)
    t_before, t_after, t_now, exposed, last = ca.vertsplit(numbers)
    x, v, _ = ca.vertsplit(_with(before, owed_before, t_before), 3)
    a, d = _with(after, owed_after, t_after)[6:], exposed - t_before
    innovation = pose - (x + d * v + 0.5 * d * d * a)
    innovation[2] = ca.remainder(innovation[2], 2 * math.pi)
    pp, pv, vv = _carried(covariance, exposed - last, process)
    g, h = pp / (pp + noise), pv / (pp + noise)
    mended = ca.vertcat((1 - g) * pp, (1 - g) * pv, vv - h * pv)
    position, velocity, zero = g * innovation, h * innovation, ca.SX.zeros(3)
    added = ca.vertcat(position - exposed * velocity, velocity, zero, velocity, zero, zero)
    age = ca.if_else(t_now > exposed, t_now - exposed, 0.0)
    deviation = ca.sqrt(_carried(mended, age, process)[0])
    given = [before, after, now, owed_before, owed_after, pose, covariance, numbers]
    return ca.Function("correction", given, [added, mended, deviation, _with(now, added, t_now)])


def _with(motion: ca.SX, added: ca.SX, t: ca.SX) -> ca.SX:
    """A motion with what is owed to it."""
    return motion + added[:9] + t * added[9:]


def _carried(covariance: ca.SX, d: ca.SX, process: Array) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Phi P Phi^T + Q after d, for each coordinate."""
    pp, pv, vv = ca.vertsplit(covariance, 3)
    s = ca.DM(process)
    return pp + d * (2 * pv + d * vv) + s * d * d * d / 3, pv + d * vv + s * d * d / 2, vv + s * d
