"""The joint filter knows the lag of the analogue rate filter and does not suffer it."""

import math

import numpy as np
import pytest

from granite.config.devices.joint_sensors import JointSensors
from granite.controllers.estimation.joint_filter import JointFilter, joint_filter

PERIOD = 0.005
A = 100.0


def sensors(a: float = A, noise: float = 2e-4, bits: int = 16) -> JointSensors:
    return JointSensors(
        kind="joint_sensors", joints=("shoulder",), angle_noise_rad=noise, range_rad=6.3, converter_bits=bits,
        filter_a_rad_s=a, filter_b_rad_s=a, rate_noise_rad_s=2e-3,
    )  # fmt: skip


def run(joint: JointFilter, model_knows: bool, a: float = A):
    """A swinging joint, sampled; the largest errors of angle and rate after the first second."""
    angle, rate, w1, w2 = 0.1, 0.0, 0.0, 0.0
    x = np.array([angle, *[0.0] * (len(joint.F) - 1)])
    worst = np.zeros(2)
    h = PERIOD / 50
    for k in range(1200):
        if k > 0:
            x = x + joint.K @ (np.array([angle, w2 if a else rate]) - joint.C @ x)
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
    assert 0 < joint_filter(sensors(), 0.2, PERIOD).deviation < 2e-4


@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_more_process_noise_means_more_deviation(scale: float):
    ratio = joint_filter(sensors(), 0.2 * scale, PERIOD).deviation / joint_filter(sensors(), 0.2, PERIOD).deviation
    assert (ratio > 1) == (scale > 1)


def test_the_steps_of_the_converter_are_noise_of_their_own_variance():
    """A uniform error of one step has the variance step^2 / 12: a coarse converter is a fine one with that noise."""
    step = 6.3 / 2**9
    coarse = joint_filter(sensors(noise=1e-3, bits=9), 0.2, PERIOD)
    fine = joint_filter(sensors(noise=math.hypot(1e-3, step / math.sqrt(12)), bits=30), 0.2, PERIOD)
    np.testing.assert_allclose(coarse.K, fine.K, rtol=1e-6)
    assert coarse.deviation == pytest.approx(fine.deviation, rel=1e-6)


@pytest.mark.parametrize(("a", "extra"), [(A, 2), (0.0, 0)])
def test_the_states_of_the_analogue_filter_are_the_extra_ones(a: float, extra: int):
    assert joint_filter(sensors(a=a), 0.2, PERIOD).n_extra == extra


@pytest.mark.parametrize("period", [0.2, 0.5])
def test_a_period_of_many_time_constants_of_the_rate_filter_gives_the_gain_of_a_rate_without_lag(period: float):
    """After twenty or more time constants of 10 ms the filter shows the rate of now, as a sensor without one does."""
    lagging, direct = joint_filter(sensors(), 0.2, period), joint_filter(sensors(a=0.0), 0.2, period)
    assert lagging.deviation == pytest.approx(direct.deviation, rel=0.05)
    assert np.abs(np.linalg.eigvals((np.eye(4) - lagging.K @ lagging.C) @ lagging.F)).max() < 1
