"""Pose, rate and biases of a floating root from any number of sensors, each with its own model, rate and delay.

    z = [pose; rate; errors of acceleration; biases; offsets]
    pose' = rate    rate' = model acceleration + white noise    bias' = white noise

A sensor measures h(z, joints) + noise (`config/measurement.py`). Where h depends on a joint, as that of a target on the
hand does, the constant offset of the joint's own sensor is part of z: the angle in h is what that sensor says, less its
offset. A root that is fixed has offsets and biases only.

The gain of a sensor follows from the Jacobian H = dh/dz at the estimate (extended Kalman filter), row by row, because
the noise of two rows is independent; the covariance has Joseph's form. What a sensor has besides enters as noise: the
deviations of the joints in h, and dh/dt times the deviation of its time.

Frames come late and in any order. Every tick leaves a checkpoint: z, its covariance P, and the step to it. A frame is
put among the measurements by its time, and everything since the checkpoint before it is computed again
(out-of-sequence by reprocessing, Bar-Shalom, *Estimation with Applications to Tracking and Navigation*, 2001).
Covariances have only the entries that the sensors of the testbed couple.

An accelerometer measures the acceleration, whose error is no state as long as it is white: a sample says nothing about
the next one. So the error of each acceleration that a sensor measures is a state e, a first-order Gauss-Markov process
(Singer, *Estimating optimal tracking filter performance for manned maneuvering targets*, IEEE AES-6, 1970),

    rate' = model acceleration + e    e' = -e / T + (density / T) * white noise

which at low frequencies has the density that the white noise had: the process noise needs no other number. An
accelerometer then measures model acceleration + e, less free fall along the slope of a measured floor, and its biases.
Poses tell e from a bias: e moves the root, a bias only the reading. Slope that is not known is part of the biases.
An e beyond its deviation, density / sqrt(2 T), is of a force that this process does not have, such as a push: the
process is then taken to be as strong as e shows it, so that the next change of e is followed and stated as well. An
innovation beyond 4 deviations is a force that began within the period: the variance of e, and with it that of the rate
that the force has given since, grows by what is beyond.

Process noise is a margin: it lets the filter follow forces that the model does not have, such as a fault or a slope.
Where the model is better than that, P says too much: of a pose without any process noise 3/4 of its variance are left,
of its rate 1/4. So the deviation may follow from another density of the same unit, the error that the model does have:
a second covariance, propagated with that density under the gains of the first (Gelb, *Applied Optimal Estimation*,
1974, 7.2). It changes no estimate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from granite.config.measurement import Measurement
from granite.config.records import Array, Frame
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm
from granite.kernels.kernel import Kernel

#: length of the history: largest delay of a frame [s]
MEMORY_S = 1.0
#: standard deviation of the velocity before anything is measured [m/s, rad/s]
FIRST_RATE_DEVIATION = 0.05
#: pose or rate of a planar root
POSE = 3
#: acceleration, and the jump of the rate at its end
STEP = 2 * POSE

#: variance of a measurement without noise, which keeps the update defined
_LEAST_VARIANCE = 1e-16
#: an innovation of an acceleration by more standard deviations is a force that begins
_JUMP_SIGMA = 4.0
#: how far a first heading may be from the given one to be taken as that of the same turn [rad]
_NEAR = math.pi / 2
#: of Newton's method for the first pose: one where the pose itself is measured, two with a lever
_STARTING_STEPS = 3


class RootSensor(NamedTuple):
    """A sensor that measures the motion of a root."""

    name: str
    device: int  #: index among the sensors of the testbed
    measurement: Measurement
    n_values: int  #: of a frame: with the deviations, where it reports these


class JointOffset(NamedTuple):
    """The constant offset of a joint's sensor, which sensors of the root determine."""

    coordinate: int  #: index of the joint among the model's coordinates
    deviation: float  #: one standard deviation, before anything is measured


class Root(NamedTuple):
    """A root, and what measures it."""

    name: str
    first: int | None  #: index of its x among the model's coordinates and of its rate in the velocities; None: fixed
    sensors: tuple[RootSensor, ...]
    process: tuple[float, float, float]  #: spectral density of the acceleration (one sigma)
    stated: tuple[float, float, float] | None = None  #: the same for the reported deviations; None: that one
    offsets: tuple[JointOffset, ...] = ()
    has_rate: bool = False  #: whether a sensor measures the rate of its heading
    heading: float = 0.0  #: about the one it begins with, which sensors give within a turn [rad]
    patience_s: float = math.inf  #: before its poses are too old
    #: which of its accelerations sensors measure, and the correlation time of their errors [s]
    accelerations: tuple[int, ...] = ()
    correlation_s: float = 0.1
    period_s: float = 0.0  #: over which they are measured


class RootKernels:
    """The functions of one root.

    Parameters
    ----------
    root
        The root.
    q, u
        Symbols of the model, in which the sensors' models are written.
    """

    def __init__(self, root: Root, q: ca.SX, u: ca.SX) -> None:
        self.root = root
        biases = [(k, bias) for k, sensor in enumerate(root.sensors) for bias in sensor.measurement.biases]
        self.biases = [bias for _, bias in biases]
        #: coordinates of the pose: none of a fixed root
        self.n_pose = 0 if root.first is None else POSE
        #: where the biases begin in z, and the offsets
        self.first_bias = 2 * self.n_pose + len(root.accelerations)
        #: of each acceleration whose error is a state, its index in z
        self._errors = {i: 2 * self.n_pose + e for e, i in enumerate(root.accelerations)}
        self.first_offset = self.first_bias + len(biases)
        self.n_z = self.first_offset + len(root.offsets)
        n = u.numel()
        #: of each sensor, the biases of its rows, by their index in z
        self._bias_rows: list[dict[int, int]] = [{} for _ in root.sensors]
        for i, (k, bias) in enumerate(biases):
            self._bias_rows[k][bias.signal] = self.first_bias + i
        z = ca.SX.sym("z", self.n_z)
        x, a = ca.SX.sym("x", 2 * n), ca.SX.sym("a", POSE)
        self._expected = [self._expectation(k, z, x, a, q, u) for k in range(len(root.sensors))]
        #: sensors that can't be used before the joints were measured
        self.needs_joints = [bool(ca.jacobian(h, x).nnz()) for h in self._expected]
        #: sensors whose first frame starts the filter: those of the whole pose; every one of a fixed root
        self.starts = [
            root.first is None
            or (len(sensor.measurement.noise) >= POSE and ca.sprank(ca.jacobian(h, z)[:POSE, :POSE]) == POSE)
            for k, (sensor, h) in enumerate(zip(root.sensors, self._expected, strict=True))
        ]
        jacobians = [np.array(ca.DM(ca.jacobian(h, z).sparsity(), 1)) for h in self._expected]
        self._lower = _pattern(
            np.array(ca.DM(self._transition(ca.SX.sym("d"))[0].sparsity(), 1), dtype=bool), self.n_pose, jacobians
        )
        #: one covariance for the gains, and one for the deviations where these have a density of their own
        self._densities = [root.process, *([root.stated] if root.stated and self.n_pose else [])]
        self.n_p = self._lower.nnz() * len(self._densities)
        columns, rows = (np.array(part) for part in (self._lower.get_triplet()[1], self._lower.get_triplet()[0]))
        #: where the variances of pose and rate stand in P
        first = self.n_p - self._lower.nnz()
        self.diagonal = [first + int(np.flatnonzero((rows == i) & (columns == i))[0]) for i in range(self.n_z)]

        def write() -> list[ca.Function]:
            functions = [self._propagation(z)]
            for k in range(len(root.sensors)):
                functions.append(self._update(k, z, x, a, n))
                if self.starts[k]:
                    functions.append(self._start(k, z, x, a))
            return functions

        given = [ca.Function("h", [z, x, a], [h]).serialize() for h in self._expected]
        described = [sensor.measurement._replace(expected=None, acceleration=None) for sensor in root.sensors]
        times = root.correlation_s, root.period_s
        key = repr((root.first, self._densities, root.offsets, root.accelerations, times, described, given))
        kernels = compile_once("root_filter", key, write)
        self.propagation: Kernel = kernels["propagation"]
        self.updates: list[Kernel] = [kernels[f"update_{k}"] for k in range(len(root.sensors))]
        self.starters: list[Kernel | None] = [
            kernels[f"start_{k}"] if starts else None for k, starts in enumerate(self.starts)
        ]

    def _expectation(self, k: int, z: ca.SX, x: ca.SX, a: ca.SX, q: ca.SX, u: ca.SX) -> ca.SX:
        """h of a sensor, with the biases of its rows and the offsets of joints."""
        at, n = self.root.first, u.numel()
        moved, turned = ca.SX(x[:n]), ca.SX(x[n:])
        if at is not None:
            moved[at : at + POSE], turned[at : at + POSE] = z[:POSE], z[POSE : 2 * POSE]
        for i, offset in enumerate(self.root.offsets):
            moved[offset.coordinate] -= z[self.first_offset + i]
        measurement = self.root.sensors[k].measurement
        h = ca.substitute(measurement.expected, ca.vertcat(q, u), ca.vertcat(moved, turned))
        if measurement.acceleration is not None:
            accelerations = ca.SX(a)
            for i, entry in self._errors.items():
                accelerations[i] += z[entry]
            h = ca.substitute(h, measurement.acceleration, accelerations)
        h = ca.SX(ca.densify(h))
        for row, i in self._bias_rows[k].items():
            h[row] += z[i]
        return h

    def _packed(self, covariances: Sequence[ca.SX]) -> ca.SX:
        """The entries that are kept, column by column."""
        rows, columns = self._lower.get_triplet()
        return ca.vertcat(*(P[i, j] for P in covariances for i, j in zip(rows, columns, strict=True)))

    def _covariances(self, packed: ca.SX) -> list[ca.SX]:
        lower = [ca.SX(self._lower, part) for part in ca.vertsplit(packed, self._lower.nnz())]
        return [part + ca.tril(part, False).T for part in lower]

    def _transition(self, d: ca.SX) -> tuple[ca.SX, list[tuple[int, int, ca.SX]]]:
        """F over the time d; and of each error of acceleration its index, that in z, and its factor in pose, rate and
        itself."""
        F, T, errors = ca.SX.eye(self.n_z), self.root.correlation_s, []
        for i in range(self.n_pose):
            F[i, POSE + i] = d
        for i, entry in self._errors.items():
            left = ca.exp(-d / T)
            effect = ca.vertcat(T * (d - T * (1 - left)), T * (1 - left), left)
            F[i, entry], F[POSE + i, entry], F[entry, entry] = effect[0], effect[1], effect[2]
            errors.append((i, entry, effect))
        return F, errors

    def _propagation(self, z: ca.SX) -> ca.Function:
        """(z, P, [time, acceleration, jump of the rate at the end]) -> z and P after that time."""
        packed, numbers = ca.SX.sym("P", self.n_p), ca.SX.sym("numbers", 1 + STEP)
        d, a, jump = numbers[0], numbers[1 : 1 + POSE], numbers[1 + POSE :]
        after, (F, errors), covariances = ca.SX(z), self._transition(d), []
        if self.n_pose:
            x, v = z[:POSE], z[POSE : 2 * POSE]
            after[: 2 * POSE] = ca.vertcat(x + d * (v + d / 2 * a), v + d * a + jump)
        for i, entry, (in_pose, in_rate, left) in ((i, k, ca.vertsplit(effect)) for i, k, effect in errors):
            after[i] += in_pose * z[entry]
            after[POSE + i] += in_rate * z[entry]
            after[entry] = left * z[entry]
        T = self.root.correlation_s
        excess = {i: ca.fmax(1, 2 * T * (z[k] / self.root.process[i]) ** 2) for i, k in self._errors.items()}
        # The deviations allow for a force along one axis that is taken for one along another.
        largest = dict.fromkeys(excess, ca.mmax(ca.vertcat(1, *excess.values())))
        for k, (P, densities) in enumerate(zip(self._covariances(packed), self._densities, strict=True)):
            Q = ca.SX(self.n_z, self.n_z)
            for i, density in enumerate(densities[: self.n_pose]):
                s = density**2
                if i in self._errors:
                    self._add_error(Q, i, d, s / T**2 * (largest if k else excess)[i])
                    continue
                Q[i, i], Q[POSE + i, POSE + i] = s * d * d * d / 3, s * d
                Q[i, POSE + i] = Q[POSE + i, i] = s * d * d / 2
            for i, bias in enumerate(self.biases, self.first_bias):
                Q[i, i] = bias.walk**2 * d
            covariances.append(F @ P @ F.T + Q)
        return ca.Function("propagation", [z, packed, numbers], [after, self._packed(covariances)])

    def _add_error(self, Q: ca.SX, i: int, d: ca.SX, s: ca.SX) -> None:
        """Noise of pose, rate and acceleration by white noise of e', to the leading order in d / T."""
        entries = i, POSE + i, self._errors[i]
        # Integrals of d^a / a! d^b / b!, with a and b the integrations from e' to each of the two.
        for row, a in zip(entries, (2, 1, 0), strict=True):
            for column, b in zip(entries, (2, 1, 0), strict=True):
                power = a + b + 1
                product = s * d
                for _ in range(power - 1):
                    product = product * d
                Q[row, column] = product / (power * math.factorial(a) * math.factorial(b))

    def _update(self, k: int, z: ca.SX, x: ca.SX, a: ca.SX, n: int) -> ca.Function:
        """(z, P, state of the model, time from then, acceleration, deviations of the model's coordinates, measured,
        variance, gate) -> z, P, innovation in its standard deviations, 1 if it is within the gate."""
        measurement, h = self.root.sensors[k].measurement, self._expected[k]
        m = len(measurement.noise)
        packed, deviation = ca.SX.sym("P", self.n_p), ca.SX.sym("deviation", n)
        measured, variance, gate = ca.SX.sym("measured", m), ca.SX.sym("variance", m), ca.SX.sym("gate")
        H, covariances = ca.jacobian(h, z), self._covariances(packed)
        P = covariances[0]
        joints, since = ca.jacobian(h, x[:n]), ca.SX.sym("since")
        R = ca.SX(variance)
        if joints.nnz():
            R += ca.densify(joints**2 @ deviation**2)
        if measurement.time_deviation_s > 0:
            rate = joints @ x[n:]
            if self.n_pose:
                rate += H[:, :POSE] @ z[POSE : 2 * POSE] + H[:, POSE : 2 * POSE] @ a
            R += ca.densify((rate * measurement.time_deviation_s) ** 2)
        innovation = measured - h
        for row in measurement.angles:
            innovation[row] = ca.remainder(innovation[row], 2 * math.pi)
        S = ca.vertcat(*(H[i, :] @ P @ H[i, :].T + R[i] for i in range(m)))
        sigmas = innovation / ca.sqrt(S)
        within = ca.SX(1)
        for i in range(m if measurement.acceleration is None else 0):
            within = ca.logic_and(within, ca.fabs(sigmas[i]) <= gate)
        after = ca.SX(z)
        for i in range(m):
            left = innovation[i] - H[i, :] @ (after - z)
            if measurement.acceleration is not None:
                covariances = self._with_jump(covariances, H[i, :], R[i], left)
            P = covariances[0]
            gain = P @ H[i, :].T / (H[i, :] @ P @ H[i, :].T + R[i])
            after = after + gain @ left
            rest = ca.SX.eye(self.n_z) - gain @ H[i, :]
            covariances = [rest @ P @ rest.T + gain @ R[i] @ gain.T for P in covariances]
        results = [ca.densify(after), self._packed(covariances), sigmas, within]
        if joints.nnz():  # the joints moved on until the end of the period, whose state x is
            results = ca.substitute(results, [x], [ca.vertcat(x[:n] + since * x[n:], x[n:])])
        return ca.Function(f"update_{k}", [z, packed, x, since, a, deviation, measured, variance, gate], results)

    def _with_jump(self, covariances: Sequence[ca.SX], H: ca.SX, R: ca.SX, innovation: ca.SX) -> list[ca.SX]:
        """The covariances with a force that began within the period, where the innovation shows one."""
        P, effect = covariances[0], ca.SX(self.n_z, 1)
        size = ca.sumsqr(H[list(self._errors.values())])
        if not size.nnz():
            return list(covariances)
        for i, entry in self._errors.items():
            effect[entry] = H[entry] / size
            effect[POSE + i] = effect[entry] * self.root.period_s
        beyond = ca.fmax(0, innovation**2 - _JUMP_SIGMA**2 * (H @ P @ H.T + R))
        return [P + beyond * (effect @ effect.T) for P in covariances]

    def _start(self, k: int, z: ca.SX, x: ca.SX, a: ca.SX) -> ca.Function:
        """(state of the model, measured, variance, heading) -> z at rest, and P.

        A heading near the given one is within a half turn of it, whichever turn the sensor counts: at pi, noise alone
        makes a sensor say -pi, and a path to 3 rad would be a whole turn.
        """
        m = POSE if self.n_pose else len(self.root.sensors[k].measurement.noise)
        measured, variance, heading = ca.SX.sym("measured", m), ca.SX.sym("variance", m), ca.SX.sym("heading")
        first, P = ca.SX.zeros(self.n_z), ca.SX(self.n_z, self.n_z)
        for i, bias in enumerate(self.biases, self.first_bias):
            P[i, i] = bias.deviation**2
        for i, offset in enumerate(self.root.offsets, self.first_offset):
            P[i, i] = offset.deviation**2
        if self.n_pose:
            first[:POSE], inverse, known = self._first_pose(k, z, x, a, measured)
            off = ca.remainder(first[2] - heading, 2 * math.pi)
            is_another_turn = ca.logic_and(ca.fabs(first[2] - heading) > math.pi, ca.fabs(off) <= _NEAR)
            first[2] = ca.if_else(is_another_turn, heading + off, first[2])
            # Offsets of joints are as unknown in the pose as they are themselves.
            shared = -inverse @ known @ P[2 * POSE :, 2 * POSE :]
            P[:POSE, :POSE] = inverse @ ca.diag(variance) @ inverse.T - shared @ known.T @ inverse.T
            P[:POSE, 2 * POSE :], P[2 * POSE :, :POSE] = shared, shared.T
            for i in range(POSE, 2 * POSE):
                P[i, i] = FIRST_RATE_DEVIATION**2
        covariances = []
        for densities in self._densities:
            covariances.append(ca.SX(P))
            for i, entry in self._errors.items():
                covariances[-1][entry, entry] = densities[i] ** 2 / (2 * self.root.correlation_s)
        packed = ca.densify(self._packed(covariances))
        return ca.Function(f"start_{k}", [x, measured, variance, heading], [first, packed])

    def _first_pose(self, k: int, z: ca.SX, x: ca.SX, a: ca.SX, measured: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """The pose by Newton's method; the inverse of dh/dpose; and dh/d(biases, offsets), there."""
        h = ca.substitute(self._expected[k][:POSE], a, ca.SX.zeros(POSE))
        H = ca.jacobian(h, z)
        f = ca.Function("h", [z, x], [h, H])
        first, J = ca.SX.zeros(self.n_z), ca.SX(H)
        if _is_identity(H[:, :POSE]):
            return measured - f(first, x)[0], ca.SX.eye(POSE), f(first, x)[1][:, 2 * POSE :]
        for _ in range(_STARTING_STEPS):
            expected, J = f(first, x)
            J = ca.SX(ca.sparsify(ca.cse(J)))
            first[:POSE] += ca.solve(J[:, :POSE], measured - expected)
        return first[:POSE], ca.inv(J[:, :POSE]), J[:, 2 * POSE :]


class RootMemory:
    """What the root filters of an estimator remember, as `root_filter.c` reads it."""

    def __init__(self, roots: Sequence[RootKernels], period: float, n: int) -> None:
        sensors = [sensor for root in roots for sensor in root.root.sensors]
        #: checkpoints that are kept when the history is full
        self.keep = int(MEMORY_S / period) + 2
        room, r, s = 2 * self.keep, len(roots), len(sensors)
        n_z, n_p = max((k.n_z for k in roots), default=1), max((k.n_p for k in roots), default=1)
        self.most_values = max((sensor.n_values for sensor in sensors), default=1)
        self.most_events = room * max((len(k.root.sensors) for k in roots), default=1) + 1
        #: whether a pose has arrived; how many checkpoints there are, and the last one that is valid
        self.started, self.stored, self.valid = np.zeros(r), np.zeros(r), np.zeros(r)
        #: at each checkpoint its time, the step to it, z and P; apart from it, as a small processor's memory is in
        #: parts, the state of the model
        columns = np.cumsum([0, 1, STEP, n_z, n_p])
        self.checkpoints, self.x = np.zeros((r, room, columns[-1])), np.zeros((r, room, 2 * n))
        times, self.steps, self.z, self.P = (
            self.checkpoints[:, :, first:last] for first, last in itertools.pairwise(columns)
        )
        self.times = times[:, :, 0]
        #: measurements in the order of their times: time, sensor, values
        self.n_events, self.events = np.zeros(r), np.zeros((r, self.most_events, 2 + self.most_values))
        self.event_t = self.events[:, :, 0]
        #: before the estimate has settled: frames of the pose that were used and refused, and whether the gate is open
        self.used, self.refused, self.opened = np.zeros(r), np.zeros(r), np.zeros(r)
        #: time of the first frame of the pose that was refused since the last one that was used
        self.refused_at = np.full(r, math.inf)
        #: estimated offsets of joints, root after root
        self.offset = np.zeros(sum(len(k.root.offsets) for k in roots))
        #: of each sensor: number of the newest frame seen, time of the newest one used, and its innovation
        self.number, self.exposed = np.zeros(s), np.full(s, math.nan)
        self.innovation = np.full((s, self.most_values), math.nan)

    def arrays(self) -> dict[str, Array]:
        """All of them, as they are called in C."""
        blocks = ((name, value) for name, value in vars(self).items() if isinstance(value, np.ndarray))
        return {f"root_{name}": value for name, value in blocks if value.base is None}  # others are columns of them


class RootFilters:
    """The filters of all roots.

    Parameters
    ----------
    roots
        What measures each.
    q, u
        Symbols of the model.
    period
        Of the loop [s].
    """

    def __init__(self, roots: Sequence[Root], q: ca.SX, u: ca.SX, period: float) -> None:
        self.kernels = [RootKernels(root, q, u) for root in roots]
        self._n = u.numel()
        self.memory = RootMemory(self.kernels, period, self._n)
        #: of all roots, each with the index of its root
        self.sensors = [(r, k) for r, kernels in enumerate(self.kernels) for k in range(len(kernels.root.sensors))]
        self._first = [0, *accumulate(len(kernels.root.sensors) for kernels in self.kernels)]
        self._headings = np.array([root.heading for root in roots])
        self._patience = np.array([root.patience_s for root in roots])
        #: variances of the data sheets
        self._variance = np.full((len(self.sensors), self.memory.most_values), _LEAST_VARIANCE)
        for s, (r, k) in enumerate(self.sensors):
            noise = self.kernels[r].root.sensors[k].measurement.noise
            self._variance[s, : len(noise)] += np.square(noise)

        #: coordinates of the joints whose offsets are estimated, and where those of each root begin
        self.offset_joints = [offset.coordinate for kernels in self.kernels for offset in kernels.root.offsets]
        self._first_offset = [0, *accumulate(len(kernels.root.offsets) for kernels in self.kernels)]

    @property
    def n_biases(self) -> int:
        """Biases of all sensors, and offsets of joints."""
        return sum(len(kernels.biases) + len(kernels.root.offsets) for kernels in self.kernels)

    @property
    def ready(self) -> bool:
        """Whether a frame of every sensor has been used."""
        return not np.isnan(self.memory.exposed).any()

    def push(self, t: float, steps: Array, x: Array) -> None:
        """Take down the step to time t of each root, and the predicted state of the model then."""
        for r in range(len(self.kernels)):
            if self.memory.started[r]:
                self._push(r, t, steps[STEP * r : STEP * (r + 1)], self._reported(x))

    def _reported(self, x: Array) -> Array:
        """The state of the model with the joints as their sensors say: with their offsets."""
        if not self.offset_joints:
            return x
        x = x.copy()
        x[self.offset_joints] += self.memory.offset
        return x

    def take(self, t: float, sensor: int, frame: Frame, x: Array, has_joints: bool = True) -> None:
        """Put a new frame among the measurements; the first pose starts the filter.

        `has_joints`: whether every joint has been measured.
        """
        memory, (r, k) = self.memory, self.sensors[sensor]
        if not frame.number > memory.number[sensor] or (self.kernels[r].needs_joints[k] and not has_joints):
            return
        memory.number[sensor] = frame.number
        if not frame.t <= t or not math.isfinite(frame.values.sum()):  # a sum is finite only if all its parts are
            return  # the guard sees the sample too and names it
        if not memory.started[r]:
            if self.kernels[r].starts[k]:
                self._start(r, k, t, frame, self._reported(x))
            return
        stored = int(memory.stored[r])
        before = int(np.searchsorted(memory.times[r, :stored], frame.t, side="left")) - 1
        if before < 0 or frame.t <= memory.exposed[sensor]:
            return  # older than the history, or than one before
        n = int(memory.n_events[r])
        at = int(np.searchsorted(memory.event_t[r, :n], frame.t, side="right"))
        events = memory.events[r]
        events[at + 1 : n + 1] = events[at:n].copy()
        events[at, : 2 + len(frame.values)] = frame.t, -1.0 - k, *frame.values  # not judged yet
        memory.n_events[r] = n + 1
        memory.valid[r] = min(memory.valid[r], before)

    def finish(self, gate: float, x: Array, deviation: Array, correction: Array, *, has_settled: bool = True) -> None:
        """Compute every root anew from the first checkpoint that is not valid, and write it into the state.

        Before the estimate has settled the first pose may be wrong, the root so fast that its poses look wrong, or
        pushed: where more of them are refused than used, or all for the root's patience, the filter starts anew, with
        an open gate.

        Parameters
        ----------
        gate
            A frame with an innovation of more standard deviations is not used.
        x, deviation, correction
            Of the estimator: state, deviations of coordinates and velocities, and what was added to the velocities.
        has_settled
            Whether velocities are known.
        """
        memory, n = self.memory, self._n
        for r, kernels in enumerate(self.kernels):
            if not memory.started[r]:
                continue
            self._replay(r, math.inf if memory.opened[r] and not has_settled else gate, deviation)
            if not has_settled and memory.refused[r] > memory.used[r]:
                memory.started[r], memory.opened[r] = 0.0, 1.0
            last, at = int(memory.stored[r]) - 1, kernels.root.first
            z, P = memory.z[r, last], memory.P[r, last]
            for i, offset in enumerate(kernels.root.offsets):
                joint, entry = offset.coordinate, self._first_offset[r] + i
                x[joint] += memory.offset[entry] - z[kernels.first_offset + i]
                memory.offset[entry] = z[kernels.first_offset + i]
                variance = P[kernels.diagonal[kernels.first_offset + i]]
                deviation[joint] = np.sqrt(deviation[joint] * deviation[joint] + variance)
            if at is None:
                continue
            correction[at : at + POSE] += z[POSE : 2 * POSE] - x[n + at : n + at + POSE]
            x[at : at + POSE], x[n + at : n + at + POSE] = z[:POSE], z[POSE : 2 * POSE]
            deviation[at : at + POSE] = np.sqrt(P[kernels.diagonal[:POSE]])
            deviation[n + at : n + at + POSE] = np.sqrt(P[kernels.diagonal[POSE : 2 * POSE]])

    def biases(self) -> Array:
        """Of all sensors and joints, root after root."""
        memory = self.memory
        rows = [
            memory.z[r, max(int(memory.stored[r]) - 1, 0), kernels.first_bias : kernels.n_z]
            for r, kernels in enumerate(self.kernels)
        ]
        return np.concatenate([np.zeros(0), *rows])

    def innovation(self, sensor: int) -> Array:
        """Of the newest frame of a sensor, in its standard deviations."""
        r, k = self.sensors[sensor]
        return self.memory.innovation[sensor, : len(self.kernels[r].root.sensors[k].measurement.noise)]

    def _variance_of(self, sensor: int, values: Array) -> Array:
        """Of a frame as reported with it, or else as the data sheet has it."""
        r, k = self.sensors[sensor]
        described = self.kernels[r].root.sensors[k]
        m = len(described.measurement.noise)
        if described.n_values == m:
            return self._variance[sensor, :m]
        reported: Array = values[m : 2 * m] * values[m : 2 * m] + _LEAST_VARIANCE
        return reported

    def _start(self, r: int, k: int, t: float, frame: Frame, x: Array) -> None:
        """The first pose, of a root at rest."""
        memory, kernels, sensor = self.memory, self.kernels[r], self._first[r] + k
        starter = kernels.starters[k]
        assert starter is not None
        m = POSE if kernels.n_pose else len(kernels.root.sensors[k].measurement.noise)
        variance = self._variance_of(sensor, frame.values)[:m]
        z, P = starter.split(starter.run((x, frame.values[:m], variance, self._headings[r : r + 1])))
        memory.exposed[sensor], memory.started[r], memory.stored[r] = frame.t, 1.0, 1.0
        memory.used[r], memory.refused[r], memory.refused_at[r] = 1.0, 0.0, math.inf
        memory.times[r, 0], memory.z[r, 0, : len(z)], memory.P[r, 0, : len(P)] = frame.t, z, P
        memory.x[r, 0], memory.valid[r], memory.n_events[r] = x, 0.0, 0.0
        # The jump of the rate stops what was predicted so far: the root is at rest.
        self._push(r, t, np.zeros(STEP), x)

    def _push(self, r: int, t: float, step: Array, x: Array) -> None:
        memory = self.memory
        stored = int(memory.stored[r])
        if stored == memory.times.shape[1]:
            if memory.valid[r] < memory.keep:  # in a pause of the loop, in which nothing was measured
                self._replay(r, math.inf, np.zeros(self._n))
            stored = self._forget(r)
        memory.times[r, stored], memory.steps[r, stored], memory.x[r, stored] = t, step, x
        memory.stored[r] = stored + 1

    def _forget(self, r: int) -> int:
        """Drop the older half of the checkpoints, and the measurements before the others."""
        memory, keep = self.memory, self.memory.keep
        for kept in (memory.checkpoints[r], memory.x[r]):
            kept[:keep] = kept[keep:].copy()
        memory.valid[r] -= keep
        n = int(memory.n_events[r])
        old = int(np.searchsorted(memory.event_t[r, :n], memory.times[r, 0], side="right"))
        memory.events[r, : n - old] = memory.events[r, old:n].copy()
        memory.n_events[r] = n - old
        return keep

    def _replay(self, r: int, gate: float, deviation: Array) -> None:
        memory, kernels, n = self.memory, self.kernels[r], self._n
        valid = int(memory.valid[r])
        z, P = memory.z[r, valid, : kernels.n_z], memory.P[r, valid, : kernels.n_p]
        at, steps = memory.times.item(r, valid), memory.steps[r]
        e = int(np.searchsorted(memory.event_t[r, : int(memory.n_events[r])], at, side="right"))
        for j in range(valid + 1, int(memory.stored[r])):
            t, numbers, has_ended, is_event = memory.times.item(r, j), np.zeros(1 + STEP), False, True
            numbers[1 : 1 + POSE] = steps[j, :POSE]
            # Up to each measurement, and to the end, where the rate jumps before what was measured then.
            while is_event or not has_ended:
                is_event = e < int(memory.n_events[r]) and memory.event_t.item(r, e) <= t
                to = memory.event_t.item(r, e) if is_event else t
                if not has_ended:
                    has_ended = to == t
                    if has_ended:
                        numbers[1 + POSE :] = steps[j, POSE:]
                    numbers[0], at = to - at, to
                    z, P = self._propagated(kernels, z, P, numbers)
                if is_event:
                    z, P, e = self._judged(r, e, j, z, P, deviation[:n], gate)
            memory.z[r, j, : kernels.n_z], memory.P[r, j, : kernels.n_p] = z, P
        memory.valid[r] = memory.stored[r] - 1

    @staticmethod
    def _propagated(kernels: RootKernels, z: Array, P: Array, numbers: Array) -> tuple[Array, Array]:
        results = kernels.propagation.run((z, P, numbers))
        return results[: kernels.n_z], results[kernels.n_z :]

    def _judged(
        self, r: int, e: int, j: int, z: Array, P: Array, deviation: Array, gate: float
    ) -> tuple[Array, Array, int]:
        """Measurement update by measurement e, in the step to checkpoint j, unless it is new and beyond the gate: then
        it is dropped."""
        memory, kernels = self.memory, self.kernels[r]
        code = int(memory.events[r, e, 1])
        is_new = code < 0
        k = -1 - code if is_new else code
        sensor = self._first[r] + k
        m, values = len(kernels.root.sensors[k].measurement.noise), memory.events[r, e, 2:]
        limit = np.array([gate if is_new else math.inf])
        since, a = memory.event_t[r, e : e + 1] - memory.times[r, j], memory.steps[r, j, :POSE]
        variance = self._variance_of(sensor, values)
        results = kernels.updates[k].run((z, P, memory.x[r, j], since, a, deviation, values[:m], variance, limit))
        if is_new:
            exposed = memory.event_t[r, e]
            memory.innovation[sensor, :m] = results[-1 - m : -1]
            if kernels.starts[k] and results[-1]:
                memory.used[r], memory.refused_at[r] = memory.used[r] + 1.0, math.inf
            elif kernels.starts[k]:
                memory.refused_at[r] = min(memory.refused_at[r], exposed)
                lasts = exposed - memory.refused_at[r] > self._patience[r]
                memory.refused[r] = memory.used[r] + 1.0 if lasts else memory.refused[r] + 1.0
            if not results[-1]:
                n = int(memory.n_events[r])
                memory.events[r, e : n - 1] = memory.events[r, e + 1 : n].copy()
                memory.n_events[r] = n - 1
                if self._redundant(kernels)[k]:
                    # Another one gives the pose; whether this one may be left out is judged by the guard, not its age.
                    memory.exposed[sensor] = exposed
                return z, P, e
            memory.events[r, e, 1] = k
            memory.exposed[sensor] = exposed
        return results[: kernels.n_z], results[kernels.n_z : kernels.n_z + kernels.n_p], e + 1

    @staticmethod
    def _redundant(kernels: RootKernels) -> list[bool]:
        """Of each sensor, whether the pose is known without it."""
        return [starts and (sum(kernels.starts) > 1 or not kernels.n_pose) for starts in kernels.starts]

    def compiled_form(self) -> CompiledForm:
        """The same in C."""
        memory, described = self.memory, [s for kernels in self.kernels for s in kernels.root.sensors]
        n_z = [kernels.n_z for kernels in self.kernels]
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {
                "ROOT_KEEP": memory.keep,
                "ROOT_Z": memory.z.shape[2],
                "ROOT_P": memory.P.shape[2],
                "ROOT_VALUES": memory.most_values,
                "ROOT_EVENTS": memory.most_events,
                "ROOTS": len(self.kernels),
                "ROOT_SENSORS": len(self.sensors),
                "ROOT_N": self._n,
                "ROOT_BIASES": self.n_biases,
                "ROOT_OFFSETS": len(self.offset_joints),
            },
            {
                "ROOT_FIRST": [-1 if kernels.root.first is None else kernels.root.first for kernels in self.kernels],
                "ROOT_FIRST_BIAS": [kernels.first_bias for kernels in self.kernels],
                "ROOT_OFFSET_FIRST": self._first_offset,
                "ROOT_OFFSET_JOINT": self.offset_joints,
                "ROOT_OFFSET_VARIANCE": [
                    i for kernels in self.kernels for i in kernels.diagonal[kernels.first_offset :]
                ],
                "ROOT_N_Z": n_z,
                "ROOT_N_P": [kernels.n_p for kernels in self.kernels],
                "ROOT_DIAGONAL": [
                    i
                    for kernels in self.kernels
                    for i in (kernels.diagonal[: 2 * POSE] if kernels.n_pose else [0] * 2 * POSE)
                ],
                "ROOT_SENSOR_FIRST": self._first,
                "ROOT_SENSOR_ROOT": [r for r, _ in self.sensors],
                "ROOT_SENSOR": [sensor.device for sensor in described],
                "ROOT_SENSOR_SIZE": [sensor.n_values for sensor in described],
                "ROOT_SENSOR_ROWS": [len(sensor.measurement.noise) for sensor in described],
                "ROOT_NEEDS_JOINTS": [int(needs) for kernels in self.kernels for needs in kernels.needs_joints],
                "ROOT_STARTS": [int(starts) for kernels in self.kernels for starts in kernels.starts],
                "ROOT_REDUNDANT": [int(is_one) for kernels in self.kernels for is_one in self._redundant(kernels)],
            },
            {
                "root_variance": self._variance,
                "root_heading": self._headings,
                "root_patience": self._patience,
                "root_least_variance": np.array([_LEAST_VARIANCE]),
            },
            memory.arrays(),
            {
                "root_propagation": [kernels.propagation for kernels in self.kernels],
                "root_update": [update for kernels in self.kernels for update in kernels.updates],
                "root_starter": [start for kernels in self.kernels for start in kernels.starters],
            },
        )


def _is_identity(H: ca.SX) -> bool:
    return bool(H.is_constant() and ca.DM(H).is_regular() and np.array_equal(np.array(ca.DM(H)), np.eye(POSE)))


def _pattern(F: NDArray[np.bool_], n_pose: int, jacobians: Sequence[NDArray[np.float64]]) -> ca.Sparsity:
    """The lower triangle of P that propagation and updates fill in."""
    n_z = len(F)
    P = F @ F.T
    while True:
        filled = P | (F @ P @ F.T)
        for H in jacobians:
            for row in H.astype(bool):
                gain = filled @ row
                filled = filled | np.outer(gain, gain)
            if n_pose and len(H) >= POSE:  # the first pose
                couples = _couples(H[:POSE, :POSE].astype(bool))
                shared = couples @ H[:POSE, 2 * POSE :].astype(bool)
                filled[:POSE, :POSE] |= couples | (shared @ shared.T)
                filled[:POSE, 2 * POSE :] |= shared
        filled = filled | filled.T
        if (filled == P).all():
            break
        P = filled
    rows, columns = np.nonzero(np.tril(P))
    order = np.lexsort((rows, columns))
    return ca.Sparsity.triplet(n_z, n_z, rows[order].tolist(), columns[order].tolist())


def _couples(H: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The pattern of (H^T H)^-1."""
    reached: NDArray[np.bool_] = H.T @ H
    for _ in range(POSE):
        reached = reached | (reached @ reached)
    return reached
