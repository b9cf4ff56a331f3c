"""Angle and rate of the joints from their sensors, without the lag of the analogue rate filter.

The filter ab s/((s+a)(s+b)) on the angle is ab/((s+a)(s+b)) on the rate (Stanford report, L195, with unit gain), so its
two states belong to the measured system:

    angle' = rate     rate' = model acceleration + noise     w1' = a (rate - w1)     w2' = b (w1 - w2)

and the sensors show angle and w2. All joints are alike and sampled together, so one constant Kalman gain serves.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import block_diag, expm, solve_discrete_are

from config.devices import JointSensors
from config.records import Array


class JointFilter:
    """Steady-state Kalman filter of n equal joints. State rows: angle, rate, and the two of the rate filter."""

    def __init__(self, sensors: JointSensors, process_noise: float, period: float) -> None:
        A, inputs, outputs = _continuous(sensors.filter_a_rad_s, sensors.filter_b_rad_s)
        F, G, Q = _discretised(A, inputs, process_noise, period)
        step = sensors.range_rad / 2**sensors.converter_bits
        R = np.diag([sensors.angle_noise_rad**2 + step**2 / 12 + 1e-16, sensors.rate_noise_rad_s**2 + 1e-16])
        P = solve_discrete_are(F.T, outputs.T, Q, R)
        gain = P @ outputs.T @ np.linalg.inv(outputs @ P @ outputs.T + R)
        self._FT, self._G, self._gainT = F.T.copy(), G, gain.T.copy()
        self._shown = slice(0, None, A.shape[0] - 1)
        self.deviation = float(np.sqrt((P - gain @ outputs @ P)[0, 0]))
        self.x = np.zeros((len(sensors.joints), A.shape[0]))
        self._innovation = np.zeros((len(sensors.joints), 2))

    def start(self, angle: Array, rate: Array) -> None:
        """Begin at the first measurement, the rate filter settled."""
        self.x[:, 0] = angle
        self.x[:, 1:] = rate[:, None]

    def predict(self, acceleration: Array) -> None:
        """One period under the model's acceleration."""
        self.x = self.x @ self._FT + acceleration[:, None] * self._G

    def correct(self, angle: Array, rate: Array) -> None:
        """Take in a measurement of this instant."""
        innovation = self._innovation
        innovation[:, 0], innovation[:, 1] = angle, rate
        innovation -= self.x[:, self._shown]
        self.x += innovation @ self._gainT


def _continuous(a: float, b: float) -> tuple[Array, Array, Array]:
    """State matrix, input column and output matrix; without a filter the rate itself is measured."""
    if a == 0 or b == 0:
        return np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([0.0, 1.0]), np.eye(2)
    A = np.array([[0.0, 1, 0, 0], [0, 0, 0, 0], [0, a, -a, 0], [0, 0, b, -b]])
    return A, np.array([0.0, 1, 0, 0]), np.array([[1.0, 0, 0, 0], [0, 0, 0, 1]])


def _discretised(A: Array, inputs: Array, density: float, period: float) -> tuple[Array, Array, Array]:
    """Transition, input held over the period, and noise covariance over it (Van Loan)."""
    n = len(A)
    augmented = expm(np.block([[A, inputs[:, None]], [np.zeros((1, n + 1))]]) * period)
    noise = density**2 * np.outer(inputs, inputs)
    van_loan = expm((block_diag(-A, A.T) + np.block([[np.zeros((n, n)), noise], [np.zeros((n, 2 * n))]])) * period)
    return augmented[:n, :n], augmented[:n, n], van_loan[n:, n:].T @ van_loan[:n, n:]
