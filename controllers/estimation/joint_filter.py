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
filter).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.devices.joint_sensors import JointDevice, JointSensors
from granite.config.records import Array

#: longest step of Van Loan's method, in time constants of the fastest filter
_VAN_LOAN = 4.0
#: standard deviation of the rate by its first measurement behind a filter, which lags [rad/s]
FIRST_RATE_DEVIATION = 0.05


class Update(NamedTuple):
    """The measurement update that a covariance allows."""

    K: ca.SX  #: Kalman gain
    sigma: ca.SX  #: standard deviation of the innovation of angle and rate
    P: ca.SX  #: covariance after it


class JointFilter(NamedTuple):
    """One period of a joint: x becomes F x + G acceleration (prediction, zero-order hold), P becomes F P F^T + Q.

    Then, with a new frame, x becomes x + K (measured - C x_s); measured - C x_s is the innovation. x is angle and rate,
    followed by the two states of the rate filter where the sensor has one.
    """

    F: Array
    G: Array
    Q: Array
    C: Array
    R: Array

    @property
    def n_extra(self) -> int:
        """Number of states beside angle and rate."""
        return len(self.F) - 2

    def predicted(self, P: ca.SX) -> ca.SX:
        """The covariance a period later."""
        return ca.DM(self.F) @ P @ ca.DM(self.F).T + ca.DM(self.Q)

    def update(self, P_before: ca.SX, s: ca.SX) -> Update:
        """Gain, standard deviation of the innovation, and covariance after a frame (Joseph form, stays symmetric).

        Parameters
        ----------
        P_before
            Covariance a period before.
        s
            Age of the frame in periods.
        """
        C, R, P, both = ca.DM(self.C), ca.DM(self.R), self.predicted(P_before), ca.DM(self.F) @ P_before
        S = C @ ((1 - s) ** 2 * P + s * (1 - s) * (both + both.T) + s**2 * P_before) @ C.T + R
        K = ((1 - s) * P + s * both) @ C.T @ ca.inv(S)
        rest, rest_before = ca.DM.eye(len(self.F)) - (1 - s) * K @ C, -s * K @ C
        mixed = rest @ both @ rest_before.T
        after = rest @ P @ rest.T + mixed + mixed.T + rest_before @ P_before @ rest_before.T + K @ R @ K.T
        return Update(K, ca.sqrt(ca.diag(S)), (after + after.T) / 2)


def first_covariance(sensors: JointDevice) -> Array:
    """The covariance with the first frame, column by column."""
    angle, rate = np.diag(_noise(sensors)) if sensors.has_angles else (0.0, _noise(sensors).item())
    unknown = FIRST_RATE_DEVIATION**2
    return np.diag([angle, unknown, unknown, rate] if sensors.has_rate_filter else [angle, rate]).ravel()


def joint_filter(sensors: JointDevice, process_noise: float, period: float) -> JointFilter:
    """The Kalman filter of these sensors; process noise as density [rad/s^2/sqrt(Hz)]."""
    A, B, C = _continuous(sensors.filter_a_rad_s, sensors.filter_b_rad_s)
    F, G, Q = _discretised(A, B, process_noise, period)
    return JointFilter(F, G, Q, C if sensors.has_angles else C[1:], _noise(sensors))


def _noise(sensors: JointDevice) -> Array:
    if not isinstance(sensors, JointSensors):
        return np.array([[sensors.rate_noise_rad_s**2 + 1e-16]])
    step = sensors.range_rad / 2**sensors.converter_bits
    return np.diag([sensors.angle_noise_rad**2 + step**2 / 12 + 1e-16, sensors.rate_noise_rad_s**2 + 1e-16])


def _continuous(a: float, b: float) -> tuple[Array, Array, Array]:
    """State matrix, input column and output matrix; without a filter the rate itself is measured."""
    if not (a > 0 and b > 0):
        return np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([0.0, 1.0]), np.eye(2)
    A = np.array([[0.0, 1, 0, 0], [0, 0, 0, 0], [0, a, -a, 0], [0, 0, b, -b]])
    return A, np.array([0.0, 1, 0, 0]), np.array([[1.0, 0, 0, 0], [0, 0, 0, 1]])


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
