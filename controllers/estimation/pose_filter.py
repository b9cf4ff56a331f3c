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
from collections.abc import Sequence
from pathlib import Path

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm

#: length of the history: largest latency of a pose [s]
MEMORY_S = 1.0
#: standard deviation of the velocity before anything is measured [m/s, rad/s]
FIRST_RATE_DEVIATION = 0.05

#: variance of a pose without noise, which keeps the update defined
_LEAST_VARIANCE = 1e-16


class PoseMemory:
    """What the pose filters of an estimator remember; each has a row of every array, as `pose_filter.c` reads them."""

    def __init__(self, filters: int, period: float) -> None:
        #: motions that are kept when the history is full
        self.keep = int(MEMORY_S / period) + 2
        n, room = filters, 2 * self.keep + 2
        #: number of the newest frame seen, and whether a pose has arrived
        self.number, self.started = np.zeros(n), np.zeros(n)
        #: exposure time of the newest pose used [s]; NaN before the first
        self.exposed = np.full(n, math.nan)
        #: of the newest pose after the first, in its standard deviations, whether it was used or not
        self.innovation = np.full((n, 3), math.nan)
        #: of position (3), of position with velocity (3), of velocity (3), at the last exposure
        self.covariance = np.zeros((n, 9))
        #: the history: how many motions there are, their times and themselves
        self.stored, self.times = np.zeros(n), np.zeros((n, 2 * self.keep))
        self.motions = np.zeros((n, 2 * self.keep, 9))
        #: offsets (6) in stored motions, and from which motion on; the last is that of now
        self.n_offsets, self.first, self.offsets = np.ones(n), np.zeros((n, room)), np.zeros((n, room, 6))

    def arrays(self) -> dict[str, Array]:
        """All of them, as they are called in C."""
        return {f"pose_{name}": value for name, value in vars(self).items() if isinstance(value, np.ndarray)}


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
    memory, row
        Where it remembers; a memory of its own where none is given.
    """

    def __init__(
        self,
        noise: Array,
        process_noise: Array,
        period: float,
        root: slice,
        n: int,
        n_x: int,
        memory: PoseMemory | None = None,
        row: int = 0,
    ) -> None:
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
        self._memory, self._row = memory or PoseMemory(1, period), row

    @staticmethod
    def compiled_form(poses: Sequence[PoseFilter], memory: PoseMemory) -> CompiledForm:
        """The same in C, for all pose filters of an estimator."""
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {"POSE_KEEP": memory.keep, "POSE_OFFSETS": memory.first.shape[1]},
            {"POSE_ROOT": [pose.root.start for pose in poses]},
            {
                "pose_variance": np.array([pose._variance for pose in poses]),
                "pose_least_variance": np.array([_LEAST_VARIANCE]),
                "pose_first_rate_variance": np.array([FIRST_RATE_DEVIATION**2]),
            },
            memory.arrays(),
            {
                "pose_deviation": [pose._kernels["deviation"] for pose in poses],
                "pose_update": [pose._kernels["update"] for pose in poses],
            },
        )

    @property
    def started(self) -> bool:
        """Whether a pose has arrived."""
        return bool(self._memory.started[self._row])

    @property
    def exposed(self) -> float:
        """Exposure time of the newest pose used [s]; NaN before the first."""
        return float(self._memory.exposed[self._row])

    @property
    def innovation(self) -> Array:
        """Of the newest pose after the first, in its standard deviations."""
        innovation: Array = self._memory.innovation[self._row]
        return innovation

    @property
    def covariance(self) -> Array:
        """Of position (3), of position with velocity (3), of velocity (3), at the last exposure."""
        covariance: Array = self._memory.covariance[self._row]
        return covariance

    def is_new(self, number: int) -> bool:
        """Whether a frame of that number was not seen before; it is from now on."""
        is_new = number > self._memory.number[self._row]
        if is_new:
            self._memory.number[self._row] = number
        return bool(is_new)

    @property
    def deviation_function(self) -> ca.Function:
        """(covariance, time since then) -> one standard deviation of the pose."""
        return _deviation(self._process)

    def deviation(self, t: float) -> Array:
        """One standard deviation of the pose at time t."""
        return self._deviation((self.covariance, np.array(t - self.exposed)))

    def start(self, t: float, exposed: float, values: Array, x: Array, deviation: Array) -> tuple[Array, Array]:
        """The first pose, of a root at rest: current state and standard deviations with it."""
        pose, memory, row = values[:3], self._memory, self._row
        self.covariance[:] = np.concatenate(
            (self._variance_of(values), np.zeros(3), np.full(3, FIRST_RATE_DEVIATION**2))
        )
        memory.exposed[row], memory.started[row] = exposed, 1.0
        motion = np.concatenate((pose, np.zeros(6)))
        self.push(exposed, motion)
        self.push(t, motion)
        at_rest, with_pose, n, root = x.copy(), deviation.copy(), self._n, self.root
        at_rest[root], at_rest[n + root.start : n + root.stop] = pose, 0.0
        with_pose[root] = self.deviation(t)
        return at_rest, with_pose

    def push(self, t: float, motion: Array) -> None:
        """Store the motion of time t."""
        memory, row = self._memory, self._row
        stored = int(memory.stored[row])
        if stored == memory.times.shape[1]:
            stored = self._forget()
        memory.times[row, stored], memory.motions[row, stored] = t, motion
        memory.stored[row] = stored + 1

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
        memory, row = self._memory, self._row
        last, times, motions = int(memory.stored[row]) - 1, memory.times[row], memory.motions[row]
        k = int(np.searchsorted(times[: last + 1], exposed, side="right")) - 1
        if k < 0 or exposed <= self.exposed:
            return None
        self._drop_offsets(k)
        before, after, n = motions[k], motions[min(k + 1, last)], int(memory.n_offsets[row])
        offsets = memory.offsets[row]
        numbers = np.array([times[k], times[last], exposed, self.exposed, gate, *self._variance_of(values)])
        results = self._update(
            (
                before[:6], after[6:], offsets[0], offsets[n - 1], values[:3], self.covariance, numbers, x, deviation,
            )
        )  # fmt: skip
        self.innovation[:] = results[-4:-1]
        if not results[-1]:
            return None
        memory.first[row, n], offsets[n], memory.n_offsets[row] = last + 1, results[:6], n + 1
        self.covariance[:], memory.exposed[row], end_x = results[6:15], exposed, 15 + self._n_x
        return results[15:end_x], results[end_x:-4]

    def _drop_offsets(self, k: int) -> None:
        """Poses arrive in order: offsets of motions before motion k are not needed any more."""
        memory, row = self._memory, self._row
        n, old = int(memory.n_offsets[row]), 0
        while n - old > 1 and memory.first[row, old + 1] <= k:
            old += 1
        for kept in (memory.first[row], memory.offsets[row]):
            kept[: n - old] = kept[old:n].copy()
        memory.n_offsets[row] = n - old

    def _variance_of(self, values: Array) -> list[float]:
        """Of a pose as reported with it, or else as the data sheet has it."""
        if len(values) == 3:
            return self._variance
        variance: list[float] = (values[3:] ** 2 + _LEAST_VARIANCE).tolist()
        return variance

    def _forget(self) -> int:
        """Keep the newest half of the history; returns its length."""
        memory, row, keep = self._memory, self._row, self._memory.keep
        for stored in (memory.times[row], memory.motions[row]):
            stored[:keep] = stored[keep:].copy()
        memory.first[row, : int(memory.n_offsets[row])] -= keep
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
