"""Angle and rate of a joint from its sensor, without the lag of the analogue rate filter.

The filter ab s/((s+a)(s+b)) on the angle is ab/((s+a)(s+b)) on the rate (Stanford report, 2.2, with unit gain), so its
two states belong to the measured system:

    angle' = rate     rate' = model acceleration + noise     w1' = a (rate - w1)     w2' = b (w1 - w2)

and the sensor measures angle and w2. The joints of a device are alike and sampled at one rate, so one constant Kalman
gain K serves: that of the steady state between two frames.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from granite.config.devices.joint_sensors import JointSensors
from granite.config.records import Array

#: longest step of Van Loan's method, in time constants of the fastest filter
_VAN_LOAN = 4.0


class JointFilter(NamedTuple):
    """One period of a joint: x becomes F x + G acceleration (prediction, zero-order hold), then x + K (measured - C x).

    measured - C x is the innovation, K the Kalman gain.

    x is angle and rate, followed by the two states of the rate filter where the sensor has one.
    """

    F: Array
    G: Array
    C: Array
    K: Array
    deviation: float  #: one sigma of the angle after a measurement [rad]

    @property
    def n_extra(self) -> int:
        """Number of states beside angle and rate."""
        return len(self.F) - 2


def joint_filter(sensors: JointSensors, process_noise: float, period: float) -> JointFilter:
    """The steady-state Kalman filter of these sensors; process noise as density [rad/s^2/sqrt(Hz)]."""
    from scipy.linalg import solve_discrete_are  # slow to import; not needed where the estimator is in the cache

    A, B, C = _continuous(sensors.filter_a_rad_s, sensors.filter_b_rad_s)
    F, G, Q = _discretised(A, B, process_noise, period)
    step = sensors.range_rad / 2**sensors.converter_bits
    R = np.diag([sensors.angle_noise_rad**2 + step**2 / 12 + 1e-16, sensors.rate_noise_rad_s**2 + 1e-16])
    F_between, Q_between = F, Q  # from one frame to the next
    for _ in range(sensors.ticks(period) - 1):
        F_between, Q_between = F @ F_between, F @ Q_between @ F.T + Q
    P = solve_discrete_are(F_between.T, C.T, Q_between, R)
    K = P @ C.T @ np.linalg.inv(C @ P @ C.T + R)
    return JointFilter(F, G, C, K, float(np.sqrt((P - K @ C @ P)[0, 0])))


def _continuous(a: float, b: float) -> tuple[Array, Array, Array]:
    """State matrix, input column and output matrix; without a filter the rate itself is measured."""
    if not (a > 0 and b > 0):
        return np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([0.0, 1.0]), np.eye(2)
    A = np.array([[0.0, 1, 0, 0], [0, 0, 0, 0], [0, a, -a, 0], [0, 0, b, -b]])
    return A, np.array([0.0, 1, 0, 0]), np.array([[1.0, 0, 0, 0], [0, 0, 0, 1]])


def _discretised(A: Array, B: Array, density: float, period: float) -> tuple[Array, Array, Array]:
    """Transition, input matrix under zero-order hold, and process noise covariance over the period (Van Loan)."""
    from scipy.linalg import block_diag, expm

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
