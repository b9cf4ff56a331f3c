"""A brake whose actuators act the wrong way ends at once: no rate is driven beyond 1.5 times its limit."""

import numpy as np
import pytest

from granite.config.loader import load
from granite.rt.run_in_memory import simulate_in_memory
from granite.rt.supervisor.brake_watch import BrakeWatch

WRONG = [
    ("free-flyer", ("elbow", "shoulder"), -1.0, ()),
    ("free-flyer", ("elbow",), -1.0, ()),
    ("free-flyer", ("elbow",), 20.0, ()),
    (
        "free-flyer",
        ("elbow", "shoulder"),
        -1.0,
        ("devices.joint_sensors.range_rad=1000", "devices.joint_sensors.converter_bits=22"),
    ),
    ("two-arm-free-flyer", ("left_elbow",), -1.0, ()),
    ("spot/arm", ("elbow",), -1.0, ()),
]


@pytest.mark.parametrize(
    ("name", "units", "factor", "more"),
    [pytest.param(*case, marks=pytest.mark.slow if i else ()) for i, case in enumerate(WRONG)],
)
def test_motors_that_act_the_wrong_way_from_the_start_are_not_braked_with(name, units, factor, more):
    fault = "{{kind='fault', at_s=0, device='motors', unit='{}', what='torque_factor', value={}}}"
    events = ", ".join(fault.format(unit, factor) for unit in units)
    log = simulate_in_memory(load(name, [f"simulation.events=[{events}]", *more]))
    assert log.summary["ended"] == "brake_fails"
    limits = {joint.joint: joint.rate_rad_s for joint in log.bed.safety.joints}
    noticed = np.flatnonzero(log["/verdict"].reason >= 10)[0]
    for i, velocity in enumerate(log.bed.velocities):
        if velocity.name in limits:
            rates = np.abs(log.rows[noticed:, log.channels.place("/truth", "u")][:, i])
            assert (
                max(rates.max(), abs(log.summary["final_rate"][velocity.name]["value"])) <= 1.5 * limits[velocity.name]
            )


def test_a_rate_that_falls_and_noise_on_it_are_no_failure():
    watch, rng = BrakeWatch(), np.random.default_rng(1)
    watch.begin(0.0)
    for k in range(400):
        rate = 3.9 * np.exp(-0.002 * k) + 0.02 * rng.standard_normal()
        assert not watch.grows(0.005 * k, 7, -rate, -3.0)


def test_what_grew_before_the_brake_does_not_count():
    watch = BrakeWatch()
    for k in range(20):
        watch.grows(0.005 * k, 7, 3.0 + 0.04 * k, 3.0)
    watch.begin(0.1)
    assert not watch.grows(0.1, 7, 3.8, 3.0)


@pytest.mark.parametrize(("rate", "ticks"), [(0.5, 1), (0.05, 8)])
def test_a_rate_that_grows_is_a_failure_at_once_or_after_a_moment(rate: float, ticks: int):
    watch = BrakeWatch()
    watch.begin(0.0)
    failed = [k for k in range(20) if watch.grows(0.005 * k, 7, 3.5 + rate * k, 3.0)]
    assert failed[0] == ticks


def test_a_rate_that_was_below_its_limit_in_between_begins_anew():
    watch = BrakeWatch()
    watch.begin(0.0)
    assert not watch.grows(0.0, 7, 3.1, 3.0)
    assert not watch.grows(2.0, 7, 3.9, 3.0)  # a push, long after the first one
