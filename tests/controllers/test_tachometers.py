"""A wheel whose rate alone is measured: its momentum is known, its angle is counted, other joints are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed as Bed
from granite.controllers.estimation.kalman import KalmanEstimator
from granite.controllers.model import ControlModel
from granite.kernels.c_compiler import find_compiler
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.compiled_runs import assert_equal_to_the_bit


def bed(duration_s: float, joints: tuple[str, ...] = ("wheel",), **table: Any) -> Bed:
    """The yaw wheel with a tachometer in place of its encoder, 20 rad/s fast."""
    wheel = {"kind": "tachometers", "joints": list(joints), "rate_noise_rad_s": 0.01, **table}
    changes = {
        "devices.joint_sensors": None,
        "devices.wheel_speed": wheel,
        "safety.age_s": {"vision": 0.5},
        "simulation.initial.wheel_rad_s": 20.0,
        "loop.duration_s": duration_s,
    }
    return load("stanford-free-flyer/yaw-wheel", changes)


def test_the_rate_of_a_wheel_is_better_than_measured_and_its_deviation_is_right() -> None:
    log = simulate_in_memory(bed(20.0), keep=False)
    columns, late = log.channels.columns, log.rows[400:]
    rate = (late[:, columns("/state", "u")] - late[:, columns("/truth", "u")])[:, 3]
    deviation = late[:, columns("/state", "rate_deviation")][:, 3]
    assert np.abs(late[:, columns("/truth", "u")][:, 3]).max() > 15.0
    assert np.sqrt((rate**2).mean()) < 0.01
    assert 0.2 < ((rate / deviation) ** 2).mean() < 1.5
    # The angle is counted from the start, and its deviation grows.
    angle = log.rows[:, columns("/state", "q")][:, 3] - log.rows[:, columns("/truth", "q")][:, 3]
    spread = log.rows[:, columns("/state", "deviation")][:, 3]
    assert spread[-1] > spread[400]
    assert abs(angle[-1] - angle[100]) < 5 * spread[-1]


FILTERED = {"rate_hz": 100.0, "filter_a_rad_s": 100.0, "filter_b_rad_s": 100.0}


@pytest.mark.parametrize("table", [{}, pytest.param(FILTERED, marks=pytest.mark.slow)], ids=["plain", "filtered"])
def test_a_run_with_tachometers_has_the_bits_of_the_loop(table: dict[str, Any]) -> None:
    if find_compiler() is None:
        pytest.skip("compiled runs need a C compiler")
    assert_equal_to_the_bit(bed(1.5, **table))


def test_the_angle_of_an_arm_can_not_be_counted() -> None:
    tachometers = {"kind": "tachometers", "joints": ["shoulder", "elbow"]}
    changes = {"devices.joint_sensors": None, "devices.rates": tachometers, "safety.age_s": {"vision": 0.5}}
    arm = load("free-flyer", changes)
    options = arm.control.estimator
    assert isinstance(options, KalmanEstimator.Options)
    with pytest.raises(InputError, match="nothing measures the angle of 'shoulder', on which the motion depends"):
        KalmanEstimator(options, ControlModel(arm))


@pytest.mark.parametrize(
    ("table", "said"), [({"joints": ("whel",)}, "no such joint"), ({"rate_hz": 130.0}, "a whole number of ticks")]
)
def test_what_can_not_be_used_is_refused_in_one_sentence(table: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        bed(1.0, **table)


@pytest.mark.parametrize(("known", "ended"), [(0.0, "sensor_outliers"), (1e-3, "completed")])
def test_a_clock_that_is_wrong_by_what_is_stated_ends_no_run(known: float, ended: str) -> None:
    """From 4 s on the time of each frame of an encoder is wrong by 1 ms, 20 mrad of its wheel."""
    jump = {"at_s": 4.0, "kind": "fault", "device": "joint_sensors", "what": "time_jump", "value": -1e-3}
    changes = {
        "devices.joint_sensors.time_deviation_s": known,
        "simulation.initial.wheel_rad_s": 20.0,
        "simulation.events": [jump],
        "loop.duration_s": 12.0,
    }
    log = simulate_in_memory(load("stanford-free-flyer/yaw-wheel", changes), keep=False)
    assert log.summary["ended"] == ended
