"""Measurement update with delayed poses of a floating root: an out-of-sequence Kalman filter of constant cost.

Every coordinate is a double integrator driven by the model's acceleration plus white noise of density s:

    Phi(d) = [1 d; 0 1],   Q(d) = s^2 [d^3/3 d^2/2; d^2/2 d]

A pose exposed at t_m corrects the state of t_m. Because the system is linear, that correction moves every later state
by Phi(t - t_m) times it. The accumulated correction is therefore a constant-velocity offset: p + v t in pose and v in
velocity, the sum of those of all updates. The history keeps states as they were predicted; a stored state is brought up
to date by adding the offset of now and subtracting the offset it was stored with. The covariance is kept at the last
exposure and propagated in closed form, so nothing is propagated twice.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from struct import Struct
from typing import Any

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm

#: length of the history: largest latency of a pose [s]
MEMORY_S = 1.0
#: standard deviation of the velocity before anything is measured [m/s, rad/s]
FIRST_RATE_DEVIATION = 0.05

_NUMBERS = Struct("8d").pack
#: variance of a pose without noise, which keeps the update defined
_LEAST_VARIANCE = 1e-16


class PoseFilter:
    """Kalman filter of x, y and heading with a history of one second.

    The history holds motions: pose (3), velocity (3), and the acceleration (3) of the step before.

    Parameters
    ----------
    noise
        Standard deviation of x [m], y [m] and heading [rad] of poses that come without their own.
    process_noise
        Spectral density of the acceleration of each (one sigma).
    period
        Of the loop [s].
    root
        Indices of the root's coordinates among the model's `n` coordinates, and of their rates among its velocities.
    n, n_x
        Coordinates of the model, and numbers in the estimator's state x = [q; u; ...].
    """

    def __init__(self, noise: Array, process_noise: Array, period: float, root: slice, n: int, n_x: int) -> None:
        self._variance: list[float] = (noise**2 + _LEAST_VARIANCE).tolist()
        process = process_noise**2
        self.root = root
        self._process = process

        def write() -> list[ca.Function]:
            return [self.deviation_function, _update(process, root.start, n, n_x)]

        key = repr((process.tolist(), root, n, n_x))
        kernels = compile_once("pose_filter", key, write)
        self._kernels = kernels
        self._deviation, self._update = kernels["deviation"].run, kernels["update"].run
        self._n_x, self._n = n_x, n
        self._keep = int(MEMORY_S / period) + 2
        self._t, self._motion = np.zeros(2 * self._keep), np.zeros((2 * self._keep, 9))
        #: views of the same memory as plain numbers, three times as fast to read and write
        self._times: Any
        self._motions: Any
        self._times, self._motions = (array.data.cast("B").cast("d") for array in (self._t, self._motion))
        #: motions in the history
        self._stored = 0
        #: the offset (6) in stored motions, and from which motion on; the last is that of now
        self._offsets: list[tuple[int, Array]] = [(0, np.zeros(6))]
        #: number of the newest frame seen
        self.number = 0
        #: whether a pose has arrived
        self.started = False
        #: of the newest pose after the first, in its standard deviations, whether it was used or not
        self.innovation: Array = np.full(3, np.nan)
        #: exposure time of the newest pose used [s]; NaN before the first
        self.exposed = math.nan
        #: of position (3), of position with velocity (3), of velocity (3), at the last exposure
        self.covariance: Array = np.zeros(9)

    @staticmethod
    def compiled_form(poses: Sequence[PoseFilter]) -> CompiledForm:
        """The same in C, for all pose filters of an estimator."""
        n, keep = len(poses), poses[0]._keep if poses else 1
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {"POSE_KEEP": keep, "POSE_OFFSETS": 2 * keep + 2},
            {"POSE_ROOT": [pose.root.start for pose in poses]},
            {
                "pose_variance": np.array([pose._variance for pose in poses]),
                "pose_least_variance": np.array([_LEAST_VARIANCE]),
                "pose_first_rate_variance": np.array([FIRST_RATE_DEVIATION**2]),
            },
            {
                "pose_number": np.zeros(n),
                "pose_started": np.zeros(n),
                "pose_exposed": np.full(n, math.nan),
                "pose_innovation": np.full(3 * n, math.nan),
                "pose_covariance": np.zeros(9 * n),
                "pose_stored": np.zeros(n),
                "pose_times": np.zeros(2 * keep * n),
                "pose_motions": np.zeros(9 * 2 * keep * n),
                "pose_n_offsets": np.ones(n),
                "pose_first": np.zeros((2 * keep + 2) * n),
                "pose_offsets": np.zeros(6 * (2 * keep + 2) * n),
            },
            {
                "pose_deviation": [pose._kernels["deviation"] for pose in poses],
                "pose_update": [pose._kernels["update"] for pose in poses],
            },
        )

    def adopt(self, memory: Mapping[str, Array], i: int) -> None:
        """Continue from the memory of the compiled form, as its pose filter i."""
        keep, room = self._keep, 2 * self._keep + 2
        self.number, self.started = int(memory["pose_number"][i]), bool(memory["pose_started"][i])
        self.exposed, self._stored = memory["pose_exposed"].item(i), int(memory["pose_stored"][i])
        self.innovation = memory["pose_innovation"][3 * i : 3 * i + 3].copy()
        self.covariance = memory["pose_covariance"][9 * i : 9 * i + 9].copy()
        self._t[:] = memory["pose_times"][2 * keep * i : 2 * keep * (i + 1)]
        self._motion[:] = memory["pose_motions"][18 * keep * i : 18 * keep * (i + 1)].reshape(-1, 9)
        first = memory["pose_first"][room * i : room * (i + 1)]
        offsets = memory["pose_offsets"][6 * room * i : 6 * room * (i + 1)].reshape(-1, 6).copy()
        self._offsets = [(int(first[k]), offsets[k]) for k in range(int(memory["pose_n_offsets"][i]))]

    @property
    def deviation_function(self) -> ca.Function:
        """(covariance, time since then) -> one standard deviation of the pose."""
        return _deviation(self._process)

    def deviation(self, t: float) -> Array:
        """One standard deviation of the pose at time t."""
        return self._deviation((self.covariance, np.array(t - self.exposed)))

    def start(self, t: float, exposed: float, values: Array, x: Array, deviation: Array) -> tuple[Array, Array]:
        """The first pose, of a root at rest: current state and standard deviations with it."""
        pose, variance = values[:3], self._variance_of(values)
        self.covariance = np.concatenate((variance, np.zeros(3), np.full(3, FIRST_RATE_DEVIATION**2)))
        self.exposed, self.started = exposed, True
        motion = np.concatenate((pose, np.zeros(6)))
        self.push(exposed, motion)
        self.push(t, motion)
        at_rest, with_pose, n, root = x.copy(), deviation.copy(), self._n, self.root
        at_rest[root], at_rest[n + root.start : n + root.stop] = pose, 0.0
        with_pose[root] = self.deviation(t)
        return at_rest, with_pose

    def push(self, t: float, motion: Array) -> None:
        """Store the motion of time t."""
        stored = self._stored
        if stored == len(self._t):
            stored = self._forget()
        self._times[stored] = t
        self._motions[9 * stored : 9 * stored + 9] = motion
        self._stored = stored + 1

    def correct(
        self, exposed: float, values: Array, x: Array, deviation: Array, gate: float = math.inf
    ) -> tuple[Array, Array] | None:
        """Measurement update with a delayed pose, unless its innovation is more standard deviations than the gate.

        `values` are the pose, and after it one standard deviation of each where the sensor reports these.

        Returns
        -------
        tuple or None
            The corrected current state and its standard deviations; None if the pose is beyond the gate, not newer than
            the last one, or older than the history.
        """
        last, times, motions, offsets = self._stored - 1, self._times, self._motions, self._offsets
        k = bisect_right(times, exposed, 0, last + 1) - 1
        if k < 0 or exposed <= self.exposed:
            return None
        while len(offsets) > 1 and offsets[1][0] <= k:  # poses arrive in order: older motions are not needed any more
            del offsets[0]
        before, after = 9 * k, 9 * min(k + 1, last)
        numbers = _NUMBERS(times[k], times[last], exposed, self.exposed, gate, *self._variance_of(values))
        found = self._update(
            (
                motions[before : before + 6], motions[after + 6 : after + 9], offsets[0][1], offsets[-1][1],
                values[:3], self.covariance, numbers, x, deviation,
            )
        )  # fmt: skip
        self.innovation = found[-4:-1]
        if not found[-1]:
            return None
        offsets.append((last + 1, found[:6]))
        self.covariance, self.exposed, end_x = found[6:15], exposed, 15 + self._n_x
        return found[15:end_x], found[end_x:-4]

    def _variance_of(self, values: Array) -> list[float]:
        """Of a pose as reported with it, or else as the data sheet has it."""
        if len(values) == 3:
            return self._variance
        variance: list[float] = (values[3:] ** 2 + _LEAST_VARIANCE).tolist()
        return variance

    def _forget(self) -> int:
        """Keep the newest half of the history; returns its length."""
        keep = self._keep
        for stored in (self._t, self._motion):
            stored[:keep] = stored[-keep:]
        self._offsets = [(first - keep, offset) for first, offset in self._offsets]
        return keep


def _deviation(process: Array) -> ca.Function:
    covariance, age = ca.SX.sym("P", 9), ca.SX.sym("age")
    position, _, _ = _propagated(covariance, ca.if_else(age > 0, age, 0.0), process)
    return ca.Function("deviation", [covariance, age], [ca.sqrt(position)])


def _update(process: Array, first: int, n: int, n_x: int) -> ca.Function:
    """(pose and velocity before the exposure, acceleration until after it, offset in these, offset of now, pose,
    covariance, [time of the motion before it, of now, of this exposure and of the last, gate, variance of the pose],
    state, deviations)
    -> offset, covariance at the exposure, state and deviations, all corrected; innovation in its standard deviations,
    and whether it is within the gate."""
    before, a, offset_before, offset = (
        ca.SX.sym(s, k) for s, k in (("before", 6), ("a", 3), ("offset_before", 6), ("offset", 6))
    )
    pose, covariance, numbers = ca.SX.sym("pose", 3), ca.SX.sym("P", 9), ca.SX.sym("numbers", 8)
    state, deviation = ca.SX.sym("x", n_x), ca.SX.sym("deviation", n)
    t_before, t_now, exposed, last, gate = ca.vertsplit(numbers[:5])
    noise = numbers[5:]
    x, v = ca.vertsplit(before + _offset_at(offset - offset_before, t_before), 3)
    d = exposed - t_before
    innovation = pose - (x + d * v + 0.5 * d * d * a)
    innovation[2] = ca.remainder(innovation[2], 2 * math.pi)
    pp, pv, vv = _propagated(covariance, exposed - last, process)
    # Kalman gain of position and velocity
    g, h = pp / (pp + noise), pv / (pp + noise)
    corrected = ca.vertcat((1 - g) * pp, (1 - g) * pv, vv - h * pv)
    added = ca.vertcat(g * innovation - exposed * (h * innovation), h * innovation)
    root = [first, first + 1, first + 2, n + first, n + first + 1, n + first + 2]
    state_after, deviation_after = ca.SX(state), ca.SX(deviation)
    state_after[root] = state[root] + _offset_at(added, t_now)
    age = ca.if_else(t_now > exposed, t_now - exposed, 0.0)
    deviation_after[first : first + 3] = ca.sqrt(_propagated(corrected, age, process)[0])
    sigmas = innovation / ca.sqrt(pp + noise)
    within = ca.logic_and(ca.logic_and(*(ca.fabs(sigmas[i]) <= gate for i in (0, 1))), ca.fabs(sigmas[2]) <= gate)
    given = [before, a, offset_before, offset, pose, covariance, numbers, state, deviation]
    found = [offset + added, corrected, state_after, deviation_after, sigmas, within]
    return ca.Function("update", given, found)


def _offset_at(offset: ca.SX, t: ca.SX) -> ca.SX:
    """Offset of pose and velocity at time t."""
    p, v = ca.vertsplit(offset, 3)
    return ca.vertcat(p + t * v, v)


def _propagated(covariance: ca.SX, d: ca.SX, process: Array) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Predicted covariance Phi P Phi^T + Q after d, for each coordinate."""
    pp, pv, vv = ca.vertsplit(covariance, 3)
    s = ca.DM(process)
    return pp + d * (2 * pv + d * vv) + s * d * d * d / 3, pv + d * vv + s * d * d / 2, vv + s * d
