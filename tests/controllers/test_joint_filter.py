"""The joint filter knows the lag of the analogue rate filter and does not suffer it."""

import math

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

from granite.config.devices.joint_sensors import JointSensors
from granite.controllers.estimation.joint_filter import JointFilter, joint_filters
from granite.controllers.estimation.prediction import n_extra

PERIOD = 0.005
A = 100.0


def sensors(a: float = A, noise: float = 2e-4, bits: int = 16) -> JointSensors:
    return JointSensors(
        kind="joint_sensors", joints=("shoulder",), angle_noise_rad=noise, range_rad=6.3, converter_bits=bits,
        filter_a_rad_s=a, filter_b_rad_s=a, rate_noise_rad_s=2e-3,
    )  # fmt: skip


def joint_filter(sensors: JointSensors, process_noise: float, period: float = PERIOD) -> JointFilter:
    """The filter of a joint that one device measures."""
    return joint_filters([sensors], process_noise, period)[0]


def settled(joint: JointFilter, every: int = 1, age: float = 0.0) -> tuple[np.ndarray, float]:
    """Kalman gain, and deviation of the angle after a frame, when one has come every so many periods for long."""
    P = ca.DM(np.diag([1e-6] * len(joint.F)))
    for _ in range(400):
        for _ in range(every - 1):
            P = joint.predicted(P)
        update = joint.update(joint.spread(P), age)
        P = update.after(joint.spread(P)).P
    return np.array(update.K), float(P[0, 0]) ** 0.5


def run(joint: JointFilter, model_knows: bool, a: float = A):
    """A swinging joint, sampled; the largest errors of angle and rate after the first second."""
    angle, rate, w1, w2 = 0.1, 0.0, 0.0, 0.0
    x = np.array([angle, *[0.0] * (len(joint.F) - 1)])
    K, _ = settled(joint)
    worst = np.zeros(2)
    h = PERIOD / 50
    for k in range(1200):
        if k > 0:
            x = x + K @ (np.array([angle, w2 if a else rate]) - joint.C @ x)
        if k > 200:
            worst = np.maximum(worst, np.abs(x[:2] - (angle, rate)))
        acceleration = 0.5 * math.cos(3 * k * PERIOD)
        x = joint.F @ x + joint.G * (acceleration if model_knows else 0.0)
        for _ in range(50):
            angle += h * rate + 0.5 * h * h * acceleration
            rate += h * acceleration
            w1 += h * a * (rate - w1)
            w2 += h * a * (w1 - w2)
    return worst


def test_with_the_model_it_follows_without_lag():
    angle, rate = run(joint_filter(sensors(), 0.2, PERIOD), model_knows=True)
    assert angle < 2e-5  # the reference integration of the analogue filter is good to this
    assert rate < 3e-4


def test_without_the_model_it_still_follows():
    angle, rate = run(joint_filter(sensors(), 2.0, PERIOD), model_knows=False)
    assert angle < 2e-3
    assert rate < 0.05


def test_a_sensor_without_rate_filter_shows_the_rate_itself():
    angle, rate = run(joint_filter(sensors(a=0.0), 0.2, PERIOD), model_knows=True, a=0.0)
    assert angle < 1e-9
    assert rate < 1e-9


def test_the_deviation_is_below_the_noise_of_one_measurement():
    assert 0 < settled(joint_filter(sensors(), 0.2, PERIOD))[1] < 2e-4


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_more_process_noise_means_more_deviation(scale: float):
    more, usual = (settled(joint_filter(sensors(), noise, PERIOD))[1] for noise in (0.2 * scale, 0.2))
    ratio = more / usual
    assert (ratio > 1) == (scale > 1)


def steady(joint: JointFilter, every: int) -> np.ndarray:
    """The gain of the algebraic Riccati equation between two frames, an independent formulation."""
    F, Q = joint.F, joint.Q
    for _ in range(every - 1):
        F, Q = joint.F @ F, joint.F @ Q @ joint.F.T + joint.Q
    P = solve_discrete_are(F.T, joint.C.T, Q, joint.R)
    return P @ joint.C.T @ np.linalg.inv(joint.C @ P @ joint.C.T + joint.R)


@pytest.mark.parametrize("a", [0.0, A])
@pytest.mark.parametrize("every", [1, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 20))])
def test_the_gain_becomes_that_of_the_time_between_frames(a: float, every: int):
    joint = joint_filter(sensors(a=a), 0.2, PERIOD)
    np.testing.assert_allclose(settled(joint, every)[0], steady(joint, every), rtol=1e-6, atol=1e-9)


def test_the_steps_of_the_converter_are_noise_of_their_own_variance():
    """A uniform error of one step has the variance step^2 / 12: a coarse converter is a fine one with that noise."""
    step = 6.3 / 2**9
    coarse = settled(joint_filter(sensors(noise=1e-3, bits=9), 0.2, PERIOD))
    fine = settled(joint_filter(sensors(noise=math.hypot(1e-3, step / math.sqrt(12)), bits=30), 0.2, PERIOD))
    np.testing.assert_allclose(coarse[0], fine[0], rtol=1e-6)
    assert coarse[1] == pytest.approx(fine[1], rel=1e-6)


@pytest.mark.parametrize(("a", "extra"), [(A, 2), (0.0, 0)])
def test_the_states_of_the_analogue_filter_are_the_extra_ones(a: float, extra: int):
    assert joint_filter(sensors(a=a), 0.2, PERIOD).n_extra == n_extra(sensors(a=a)) == extra


@pytest.mark.parametrize("period", [0.2, pytest.param(0.5, marks=pytest.mark.slow)])
def test_a_period_of_many_time_constants_of_the_rate_filter_gives_the_gain_of_a_rate_without_lag(period: float):
    """After twenty or more time constants of 10 ms the filter shows the rate of now, as a sensor without one does."""
    lagging, direct = joint_filter(sensors(), 0.2, period), joint_filter(sensors(a=0.0), 0.2, period)
    gain, deviation = settled(lagging)
    assert deviation == pytest.approx(settled(direct)[1], rel=0.05)
    assert np.abs(np.linalg.eigvals((np.eye(4) - gain @ lagging.C) @ lagging.F)).max() < 1


@pytest.mark.parametrize("age", [0.3, 2.0, *(pytest.param(age, marks=pytest.mark.slow) for age in (0.0, 1.0))])
def test_a_frame_counts_at_the_time_when_it_was_sampled(age: float):
    """A wheel at 2.6 rad/s, frames up to two periods old: taken as of now, its angle would be 26 mrad late."""
    joint, rate = joint_filter(sensors(), 0.2, PERIOD), 2.6
    K, deviation = settled(joint, age=age)
    x = np.array([0.0, rate, rate, rate])
    for k in range(1, 400):
        predicted = joint.F @ x
        sampled = np.array([rate * PERIOD * (k - age), rate])
        x = predicted + K @ (sampled - joint.C @ ((1 - age) * predicted + age * x))
    assert abs(x[0] - rate * PERIOD * 399) < 1e-9
    assert settled(joint)[1] <= deviation + 1e-15  # an older frame tells less
