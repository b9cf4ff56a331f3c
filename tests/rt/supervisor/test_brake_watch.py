"""A brake whose actuators act the wrong way ends at once: no rate is driven beyond 1.5 times its limit."""

import math

import numpy as np
import pytest

from granite.config.devices.momentum_wheel import MomentumWheels
from granite.config.loader import load, presets
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import possible_accelerations
from granite.rt.supervisor.brake_watch import BrakedSpeeds, BrakeWatch
from tests.support.wrong_actuators import BRAKED, MOST, WrongActuators, fastest_rate, wrong_motors, wrong_thrusters

#: whose motion the model does not explain, because they touch an object: their rates alone show a wrong motor
IN_CONTACT = [
    wrong
    for wrong in wrong_motors(load("two-arm-catch"))
    if wrong.units == "vehicle_left_elbow" and wrong.what in ("motor x -3", "motor x 20")
]


#: the other testbeds take longer
WATCHED = (
    "free-flyer",
    "two-arm-free-flyer",
    "stanford-free-flyer",
    "spot/arm",
    "flexible-arm",
    "fixed-dual-arm/carry",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in WATCHED else pytest.param(name, marks=pytest.mark.study) for name in BRAKED]
)
def test_actuators_that_are_wrong_from_the_start_are_not_braked_with(name: str):
    bed = load(name)
    for wrong in (*wrong_motors(bed), *wrong_thrusters(bed)):
        rate = fastest_rate(name, wrong)
        assert rate.after <= MOST, (wrong, rate)


def test_every_controlled_preset_has_limits_of_its_joints():
    for preset in presets():
        bed = load(preset.name)
        if bed.controller is not None and bed.use != "validation":
            wheels = {wheel.joint for device in bed.devices_of(MomentumWheels).values() for wheel in device.units}
            limited = {joint.joint for joint in bed.safety.joints}
            assert limited >= {motor.joint for motor in bed.motors} - wheels, preset.name


@pytest.mark.slow
@pytest.mark.parametrize("wrong", IN_CONTACT, ids=lambda wrong: wrong.what)
def test_a_wrong_motor_of_a_robot_in_contact_ends_its_brake(wrong: WrongActuators):
    rate = fastest_rate("two-arm-catch/clean", wrong)
    assert rate.ended == "brake_fails"
    assert rate.after <= MOST
    assert rate.lasted_s <= 0.05


def test_a_wrong_motor_shows_before_its_joint_is_fast():
    reversed_motors = next(wrong for wrong in wrong_motors(load("free-flyer")) if wrong.units == "all")
    rate = fastest_rate("free-flyer", reversed_motors)
    assert rate.ended == "sensor_outliers"
    assert rate.after < 0.4


@pytest.mark.slow
def test_thrusters_that_push_the_wrong_way_end_a_brake_below_the_limit():
    rate = fastest_rate("two-arm-catch", list(wrong_thrusters(load("two-arm-catch")))[-1])
    assert rate.ended == "brake_fails"
    assert rate.after < 0.6
    assert rate.lasted_s < 1.5


def test_a_rate_that_falls_and_noise_on_it_are_no_failure():
    watch, rng = BrakeWatch({}), np.random.default_rng(1)
    watch.begin(0.0)
    for k in range(400):
        rate = 3.9 * np.exp(-0.002 * k) + 0.02 * rng.standard_normal()
        assert not watch.grows(0.005 * k, 7, -rate, -3.0)


def test_noise_near_a_small_limit_is_no_failure_but_a_brake_that_drives_is():
    """A limit of 15 standard deviations, as of an arm that moves slowly."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        watch = BrakeWatch({7: 2e-3})
        watch.begin(0.0)
        for k in range(200):
            rate = 0.032 * np.exp(-0.01 * k) + 2e-3 * rng.standard_normal()
            if rate > 0.03:
                assert not watch.grows(0.005 * k, 7, rate, 0.03)
    watch = BrakeWatch({7: 2e-3})
    watch.begin(0.0)
    assert any(watch.grows(0.005 * k, 7, 0.032 + 0.002 * k, 0.03) for k in range(12))


def test_what_grew_before_the_brake_does_not_count():
    watch = BrakeWatch({})
    for k in range(20):
        watch.grows(0.005 * k, 7, 3.0 + 0.04 * k, 3.0)
    watch.begin(0.1)
    assert not watch.grows(0.1, 7, 3.8, 3.0)


@pytest.mark.parametrize(("rate", "ticks"), [(0.5, 1), (0.05, 7)])
def test_a_rate_that_grows_is_a_failure_at_once_or_after_a_moment(rate: float, ticks: int):
    watch = BrakeWatch({})
    watch.begin(0.0)
    failed = [k for k in range(20) if watch.grows(0.005 * k, 7, 3.5 + rate * k, 3.0)]
    assert failed[0] == ticks


def test_a_rate_that_grows_ever_faster_is_judged_ahead_of_its_estimate():
    """As estimated of a motor of 20 times its torque: the true rate is at 1.33 times its limit there."""
    watch = BrakeWatch({})
    watch.begin(0.0)
    estimated = [3.0, 3.07, 3.16, 3.37]
    assert [watch.grows(0.005 * k, 7, -rate, -3.0) for k, rate in enumerate(estimated)] == [False, False, False, True]


def test_a_rate_that_was_below_its_limit_in_between_begins_anew():
    watch = BrakeWatch({})
    watch.begin(0.0)
    assert not watch.grows(0.0, 7, 3.1, 3.0)
    assert not watch.grows(2.0, 7, 3.9, 3.0)  # a push, long after the first one


@pytest.mark.parametrize("back", [3.2, -3.2])
def test_a_rate_that_swings_back_above_its_limit_is_a_failure(back: float):
    watch = BrakeWatch({})
    watch.begin(0.0)
    assert not watch.grows(0.0, 7, 3.1, 3.0)
    assert watch.grows(0.06, 7, back, 3.0)


def base_fails(rates: np.ndarray) -> float:
    """When a base whose thrusters give 0.024 m/s2 is found to be driven above 0.2 m/s [s]; never: infinity."""
    watch = BrakeWatch({}, {7: 0.024})
    watch.begin(0.0)
    failed = (0.005 * k for k, rate in enumerate(rates) if rate > 0.2 and watch.grows(0.005 * k, 7, rate, 0.2))
    return next(failed, math.inf)


@pytest.mark.parametrize("seconds", [0.02, 0.3, 1.5])
def test_a_base_that_is_pushed_faster_than_its_thrusters_can_is_not_driven(seconds: float):
    """To 0.35 m/s, then 0.014 m/s2 of brake, with noise that crosses the limit again and again."""
    t, rng = 0.005 * np.arange(3000), np.random.default_rng(1)
    rates = np.where(t < seconds, 0.2 + 0.15 * t / seconds, 0.35 - 0.014 * (t - seconds))
    assert base_fails(rates + 1e-3 * rng.standard_normal(len(t))) == math.inf


@pytest.mark.parametrize("part", [0.7, 1.0, 2.0])
def test_a_base_that_its_thrusters_drive_ends_its_brake_before_half_its_limit_more(part: float):
    rates = 0.2 + 0.024 * part * 0.005 * np.arange(1, 2000)
    assert rates[round(base_fails(rates) / 0.005)] < 0.2 * 1.25


def test_an_object_is_watched_without_knowing_what_its_hands_can_give():
    model = ControlModel(load("two-arm-carry"))
    possible = possible_accelerations(model)
    names = [velocity.name for velocity in model.bed.known.velocities]
    assert {name for name, most in zip(names, possible, strict=True) if most == math.inf} == {
        name for name in names if name.startswith("target_body")
    }
    watch = BrakeWatch({}, {7: math.inf})
    watch.begin(0.0)
    rates = 0.2 + 0.5 * 0.005 * np.arange(1, 100)
    failed = (rate for k, rate in enumerate(rates) if watch.grows(0.005 * k, 7, rate, 0.2))
    assert next(failed, math.inf) < 0.28


def driven(accelerations: np.ndarray, decelerates: float = 0.02) -> float:
    """When a base that begins at 0.1 m/s in a brake is found to be driven [s]; never: infinity."""
    speeds, v = BrakedSpeeds([(0, 1)], ["m/s", "m/s"], np.array([0.02, 0.02])), 0.1
    speeds.begin()
    for k, a in enumerate(accelerations):
        expected = max(0.1 - decelerates * 0.005 * k, 0.0)
        if speeds.driven(0.005 * k, np.array([v, 0.0]), np.array([expected, 0.0])) is not None:
            return 0.005 * k
        v += 0.005 * a
    return math.inf


def test_a_base_that_speeds_up_in_a_brake_is_driven():
    assert driven(np.full(1000, 0.02)) == pytest.approx(1.5, abs=0.1)


@pytest.mark.parametrize("part", [1.0, 0.3, 0.05])
def test_a_brake_with_weak_thrust_goes_on(part: float):
    assert driven(np.full(1000, -0.02 * part)) == math.inf


def test_a_push_that_the_brake_takes_out_is_no_failure():
    parts = [(200, -0.02), (20, 1.0), (120, -0.3), (500, 0.0)]
    assert driven(np.concatenate([np.full(n, a) for n, a in parts])) == math.inf


def test_a_base_that_is_pushed_for_a_second_in_a_brake_is_not_driven():
    parts = [(100, -0.02), (200, 0.3), (500, -0.02)]
    assert driven(np.concatenate([np.full(n, a) for n, a in parts])) == math.inf
