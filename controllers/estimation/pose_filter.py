"""Late pictures of the floating base, each taken in at the time it was exposed.

Every coordinate is a double integrator driven by the model's acceleration plus white noise of density s:

    Phi(d) = [1 d; 0 1],   Q(d) = s^2 [d^3/3 d^2/2; d^2/2 d]

A picture exposed at t_m corrects the state of t_m. Because the system is linear, that correction moves every later
state by Phi(t - t_m) times it, and the present becomes what it would be had the picture come at once. Seen over time
that is a drift, p + v t in pose and v in velocity, so all corrections together are one drift, too, their sum. The past
stays as it was predicted: a moment of it lacks the drift that has come up since. The covariance is kept at the last
exposure and carried forward in closed form, so nothing is propagated twice.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from struct import Struct
from typing import Any

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.mrds.compilation import compile_functions

#: how far back a picture may reach [s]
MEMORY_S = 1.0
#: what is known of the velocity before anything is measured [m/s, rad/s]
FIRST_RATE_DEVIATION = 0.05

_NUMBERS = Struct("4d").pack


class PoseFilter:
    """Kalman filter of x, y and heading with a past of one second, in a model of `n` coordinates that begin with them.

    The past holds motions: pose (3), velocity (3), and the acceleration (3) of the step that led there. The state x of
    the model begins with its coordinates and their rates (2 n).
    """

    def __init__(self, noise: Array, process_noise: Array, period: float, n: int, n_x: int) -> None:
        self._R = noise**2 + 1e-16
        process = process_noise**2
        #: (covariance, time since then) -> one standard deviation of the pose
        self.deviation_function = _deviation(process)
        correction = _correction(process, self._R, n, n_x)
        kernels = compile_functions("pose_filter", [self.deviation_function, correction])
        self._deviation, self._correction = kernels["deviation"].run, kernels["correction"].run
        self._n_x, self._n = n_x, n
        self._keep = int(MEMORY_S / period) + 2
        self._t, self._motion = np.zeros(2 * self._keep), np.zeros((2 * self._keep, 9))
        # Flat memory takes a contiguous array of its length in a third of the time NumPy needs.
        self._times: Any = self._t.data
        self._motions: Any = self._motion.data.cast("B").cast("d")
        #: moments that the past holds
        self._past = 0
        #: the drift (6) that motions have in them, and from which moment of the past on; the last is that of now
        self._drifts: list[tuple[int, Array]] = [(0, np.zeros(6))]
        #: whether a picture has come
        self.started = False
        #: exposure time of the newest picture taken in [s]; NaN before the first
        self.exposed = math.nan
        #: of position (3), of position with velocity (3), of velocity (3), at the last exposure
        self.covariance: Array = np.zeros(9)

    def deviation(self, t: float) -> Array:
        """One standard deviation of the pose at time t."""
        return self._deviation((self.covariance, np.array(t - self.exposed)))

    def start(self, t: float, exposed: float, pose: Array, x: Array, deviation: Array) -> tuple[Array, Array]:
        """The first picture, of a base at rest; state and deviations of now with it in them."""
        self.covariance = np.concatenate((self._R, np.zeros(3), np.full(3, FIRST_RATE_DEVIATION**2)))
        self.exposed, self.started = exposed, True
        motion = np.concatenate((pose, np.zeros(6)))
        self.push(exposed, motion)
        self.push(t, motion)
        n = self._n
        at_rest = np.concatenate((pose, x[3:n], np.zeros(3), x[n + 3 :]))
        return at_rest, np.concatenate((self.deviation(t), deviation[3:]))

    def push(self, t: float, motion: Array) -> None:
        """Remember the motion of time t."""
        past = self._past
        if past == len(self._t):
            past = self._forget()
        self._times[past] = t
        self._motions[9 * past : 9 * past + 9] = motion
        self._past = past + 1

    def correct(self, exposed: float, pose: Array, x: Array, deviation: Array) -> tuple[Array, Array] | None:
        """Take in a picture; state and deviations of now, mended, or None if it is no newer than the last or beyond
        memory."""
        last, times, motions, drifts = self._past - 1, self._times, self._motions, self._drifts
        k = bisect_right(times, exposed, 0, last + 1) - 1
        if k < 0 or exposed <= self.exposed:
            return None
        while len(drifts) > 1 and drifts[1][0] <= k:  # pictures come in turn: none asks for moments before this one
            del drifts[0]
        before, after = 9 * k, 9 * min(k + 1, last)
        found = self._correction(
            (
                motions[before : before + 6], motions[after + 6 : after + 9], drifts[0][1], drifts[-1][1],
                pose, self.covariance, _NUMBERS(times[k], times[last], exposed, self.exposed), x, deviation,
            )
        )  # fmt: skip
        drifts.append((last + 1, found[:6]))
        self.covariance, self.exposed, end_x = found[6:15], exposed, 15 + self._n_x
        return found[15:end_x], found[end_x:]

    def _forget(self) -> int:
        """Keep the newest half of the past; how much that is."""
        keep = self._keep
        for past in (self._t, self._motion):
            past[:keep] = past[-keep:]
        self._drifts = [(first - keep, drift) for first, drift in self._drifts]
        return keep


def _deviation(process: Array) -> ca.Function:
    covariance, age = ca.SX.sym("P", 9), ca.SX.sym("age")
    position, _, _ = _carried(covariance, ca.if_else(age > 0, age, 0.0), process)
    return ca.Function("deviation", [covariance, age], [ca.sqrt(position)])


def _correction(process: Array, noise: Array, n: int, n_x: int) -> ca.Function:
    """(pose and velocity before a picture, acceleration until after it, drift in these, drift in now, picture,
    covariance, [time of the motion before it, of now, of this exposure and of the last], state, deviations)
    -> drift, covariance at the exposure, state and deviations, all mended."""
    before, a, drift_before, drift = (ca.SX.sym(s, k) for s, k in (("before", 6), ("a", 3), ("was", 6), ("is", 6)))
    pose, covariance, numbers = ca.SX.sym("pose", 3), ca.SX.sym("P", 9), ca.SX.sym("numbers", 4)
    state, deviation = ca.SX.sym("x", n_x), ca.SX.sym("deviation", n)
    t_before, t_now, exposed, last = ca.vertsplit(numbers)
    x, v = ca.vertsplit(before + _drifted(drift - drift_before, t_before), 3)
    d = exposed - t_before
    innovation = pose - (x + d * v + 0.5 * d * d * a)
    innovation[2] = ca.remainder(innovation[2], 2 * math.pi)
    pp, pv, vv = _carried(covariance, exposed - last, process)
    g, h = pp / (pp + noise), pv / (pp + noise)
    mended = ca.vertcat((1 - g) * pp, (1 - g) * pv, vv - h * pv)
    added = ca.vertcat(g * innovation - exposed * (h * innovation), h * innovation)
    base = [0, 1, 2, n, n + 1, n + 2]
    state_after, deviation_after = ca.SX(state), ca.SX(deviation)
    state_after[base] = state[base] + _drifted(added, t_now)
    age = ca.if_else(t_now > exposed, t_now - exposed, 0.0)
    deviation_after[:3] = ca.sqrt(_carried(mended, age, process)[0])
    given = [before, a, drift_before, drift, pose, covariance, numbers, state, deviation]
    return ca.Function("correction", given, [drift + added, mended, state_after, deviation_after])


def _drifted(drift: ca.SX, t: ca.SX) -> ca.SX:
    """How far a drift has moved pose and velocity at time t."""
    p, v = ca.vertsplit(drift, 3)
    return ca.vertcat(p + t * v, v)


def _carried(covariance: ca.SX, d: ca.SX, process: Array) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Phi P Phi^T + Q after d, for each coordinate."""
    pp, pv, vv = ca.vertsplit(covariance, 3)
    s = ca.DM(process)
    return pp + d * (2 * pv + d * vv) + s * d * d * d / 3, pv + d * vv + s * d * d / 2, vv + s * d
