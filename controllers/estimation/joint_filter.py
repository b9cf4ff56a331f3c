"""Angle and rate of a joint from its sensor, without the lag of the analogue rate filter.

The filter ab s/((s+a)(s+b)) on the angle is ab/((s+a)(s+b)) on the rate (Stanford report, 2.2, with unit gain), so its
two states belong to the measured system:

    angle' = rate     rate' = model acceleration + noise     w1' = a (rate - w1)     w2' = b (w1 - w2)

and the sensor measures angle and w2. The joints of a device are alike and sampled together, so one covariance P serves
all of them. It grows with every period and shrinks with every frame used: the gain is that of the time since the last
one, however irregular the frames are.

A frame of a board was sampled up to a period before the tick. With s, its age in periods, it measures

    x_s = (1 - s) x + s x_before

the line between the prediction x and the state a period before; over one period the angle is off that line by less than
acceleration period^2/8. Both states are Gaussian with known covariances P, P_before and F P_before between them, so the
measurement update is exact for it. An older frame is on the same line, extended.

A constant offset of the angle is not observable: it shifts estimate and measurement alike. It is no state of the
filter; its variance is added to that of the angle in the reported deviation (a considered bias, as in a Schmidt-Kalman
filter). Where several sensors measure one angle the differences of their offsets are observable, so each offset is a
state; and each sensor has the states of its own rate filter.

Sensors of one joint are used one after the other. The first update also changes what is known of the state a period
before, x_before, on which the next one depends:

    K_before = cov(x_before, x_s) C^T S^-1

Process noise is a margin, as for a root (`root_filter.py`): the deviations of rates may follow from another density,
under the same gains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.devices.joint_sensors import JointDevice, JointSensors
from granite.config.records import Array

#: longest step of Van Loan's method, in time constants of the fastest filter
_VAN_LOAN = 4.0
#: standard deviation of the rate by its first measurement behind a filter, which lags [rad/s]
FIRST_RATE_DEVIATION = 0.05


class JointCovariance(NamedTuple):
    """Covariance of the state, of the state a period before, and between them."""

    P: ca.SX
    both: ca.SX  #: cov(x, x_before)
    P_before: ca.SX


class Update(NamedTuple):
    """The measurement update that a covariance allows."""

    K: ca.SX  #: Kalman gain
    K_before: ca.SX  #: that of the state a period before
    sigma: ca.SX  #: standard deviation of the innovation of angle and rate
    rest: ca.SX  #: of the errors of x and x_before, those that are left, (I - [K; K_before] [(1 - s) C, s C])
    R: Array

    def after(self, spread: JointCovariance) -> JointCovariance:
        """The covariances with the frame (Joseph form, which holds for gains of another covariance, too)."""
        P, both, P_before = spread
        gain, n = ca.vertcat(self.K, self.K_before), P.size1()
        joint = self.rest @ ca.blockcat([[P, both], [both.T, P_before]]) @ self.rest.T + gain @ ca.DM(self.R) @ gain.T
        joint = (joint + joint.T) / 2
        return JointCovariance(joint[:n, :n], joint[:n, n:], joint[n:, n:])


class JointFilter(NamedTuple):
    """One period of a joint: x becomes F x + G acceleration (prediction, zero-order hold), P becomes F P F^T + Q.

    Then, with a new frame, x becomes x + K (measured - C x_s); measured - C x_s is the innovation. x is angle and rate,
    followed by the two states of the rate filter of each sensor that has one, and by the offsets of the angles.
    """

    F: Array
    G: Array
    Q: Array
    C: Array
    R: Array
    stated: Array | None = None  #: covariance of the process noise by which the deviations of rates are stated

    @property
    def n_extra(self) -> int:
        """Number of states beside angle and rate."""
        return len(self.F) - 2

    def predicted(self, P: ca.SX, Q: Array | None = None) -> ca.SX:
        """The covariance a period later."""
        return ca.DM(self.F) @ P @ ca.DM(self.F).T + ca.DM(self.Q if Q is None else Q)

    def spread(self, P_before: ca.SX, Q: Array | None = None) -> JointCovariance:
        """After the prediction from this covariance; under another process noise where one is given."""
        return JointCovariance(self.predicted(P_before, Q), ca.DM(self.F) @ P_before, P_before)

    def update(self, spread: JointCovariance, s: ca.SX) -> Update:
        """Gains and standard deviation of the innovation of a frame.

        Parameters
        ----------
        spread
            Before it.
        s
            Age of the frame in periods.
        """
        C, R, (P, both, P_before) = ca.DM(self.C), ca.DM(self.R), spread
        S = C @ ((1 - s) ** 2 * P + s * (1 - s) * (both + both.T) + s**2 * P_before) @ C.T + R
        K = ((1 - s) * P + s * both) @ C.T @ ca.inv(S)
        K_before = ((1 - s) * both.T + s * P_before) @ C.T @ ca.inv(S)
        rest = ca.DM.eye(2 * len(self.F)) - ca.vertcat(K, K_before) @ ca.horzcat((1 - s) * C, s * C)
        return Update(K, K_before, ca.sqrt(ca.diag(S)), rest, self.R)


def angle_offset(sensors: JointDevice) -> float:
    """Unknown offset of the angles (one sigma) [rad]."""
    return sensors.angle_offset_rad if isinstance(sensors, JointSensors) else 0.0


def offset_devices(sensors: Sequence[JointDevice]) -> list[int]:
    """Of the sensors of one joint, those whose offset is a state: where several measure the angle."""
    is_several = sum(device.has_angles for device in sensors) > 1
    return [i for i, device in enumerate(sensors) if is_several and angle_offset(device) > 0]


def first_covariance(sensors: Sequence[JointDevice]) -> Array:
    """The covariance with the first frames of the sensors of a joint, column by column."""
    unknown, noises = FIRST_RATE_DEVIATION**2, [np.diag(_noise(device)) for device in sensors]
    angle = noises[0].item(0) if sensors[0].has_angles else 0.0
    variances = [angle, unknown if sensors[0].has_rate_filter else noises[0].item(-1)]
    for device, noise in zip(sensors, noises, strict=True):
        if device.has_rate_filter:
            variances += [unknown, noise.item(-1)]
    offsets, n = offset_devices(sensors), len(variances)
    variances += [angle_offset(sensors[i]) ** 2 for i in offsets]
    P = np.diag(variances)
    if 0 in offsets:  # the first angle is that of the first sensor
        i = n + offsets.index(0)
        P[0, 0] += P[i, i]
        P[0, i] = P[i, 0] = -P[i, i]
    return P.ravel()


def joint_filters(
    sensors: Sequence[JointDevice], process_noise: float, period: float, stated: float | None = None
) -> list[JointFilter]:
    """The filter of a joint that all these sensors measure, as each of them sees it."""
    A, B, outputs = _continuous(sensors)
    F, G, Q = _discretised(A, B, process_noise, period)
    by_model = None if stated is None else _discretised(A, B, stated, period)[2]
    return [JointFilter(F, G, Q, C, _noise(device), by_model) for device, C in zip(sensors, outputs, strict=True)]


def _noise(sensors: JointDevice) -> Array:
    if not isinstance(sensors, JointSensors):
        return np.array([[sensors.rate_noise_rad_s**2 + 1e-16]])
    step = sensors.range_rad / 2**sensors.converter_bits
    return np.diag([sensors.angle_noise_rad**2 + step**2 / 12 + 1e-16, sensors.rate_noise_rad_s**2 + 1e-16])


def _continuous(sensors: Sequence[JointDevice]) -> tuple[Array, Array, list[Array]]:
    """State matrix, input column, and output matrix of each; without a filter the rate itself is measured."""
    filtered = [2 if device.has_rate_filter else 0 for device in sensors]
    offsets = offset_devices(sensors)
    n = 2 + sum(filtered) + len(offsets)
    A, B, outputs, first = np.zeros((n, n)), np.zeros(n), [], 2
    A[0, 1] = B[1] = 1.0
    for i, device in enumerate(sensors):
        C, a, b = np.zeros((2, n)), device.filter_a_rad_s, device.filter_b_rad_s
        C[0, 0] = C[1, first + 1 if filtered[i] else 1] = 1.0
        if filtered[i]:
            A[first, [1, first]], A[first + 1, [first, first + 1]] = (a, -a), (b, -b)
        if i in offsets:
            C[0, n - len(offsets) + offsets.index(i)] = 1.0
        outputs.append(C if device.has_angles else C[1:])
        first += filtered[i]
    return A, B, outputs


def _discretised(A: Array, B: Array, density: float, period: float) -> tuple[Array, Array, Array]:
    """Transition, input matrix under zero-order hold, and process noise covariance over the period (Van Loan)."""
    from scipy.linalg import block_diag, expm  # slow to import; not needed where the estimator is in the cache

    n = len(A)
    augmented = expm(np.block([[A, B[:, None]], [np.zeros((1, n + 1))]]) * period)
    # Van Loan's method needs exp(-A t), which grows: it is used over a part of the period, which is then doubled.
    doublings = max(0, math.ceil(math.log2(max(abs(A).max() * period, 1.0) / _VAN_LOAN)))
    part = period / 2**doublings
    noise = density**2 * np.outer(B, B)
    van_loan = expm((block_diag(-A, A.T) + np.block([[np.zeros((n, n)), noise], [np.zeros((n, 2 * n))]])) * part)
    F = van_loan[n:, n:].T
    Q = F @ van_loan[:n, n:]
    for _ in range(doublings):
        F, Q = F @ F, F @ Q @ F.T + Q
    return augmented[:n, :n], augmented[:n, n], (Q + Q.T) / 2
