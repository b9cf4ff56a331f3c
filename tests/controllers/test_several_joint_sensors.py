"""Several sensors on one joint: fused at best, a bad one named and left out, contradicting ones refused."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import block_diag

import granite
from granite.config.devices.joint_sensors import JointDevice, JointSensors, Tachometers
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Array
from granite.controllers.estimation.joint_filter import first_covariance, joint_filters
from granite.kernels.c_compiler import find_compiler
from granite.rt.run_in_memory import simulate_in_memory
from tests.support.compiled_runs import assert_equal_to_the_bit

PERIOD = 0.005
#: half as fine as the sensor of the preset, at half its rate, without a filter
SECOND = {
    "kind": "joint_sensors", "joints": ["elbow"], "rate_hz": 100.0, "angle_noise_rad": 4e-4, "angle_offset_rad": 8e-4,
    "rate_noise_rad_s": 5e-3,
}  # fmt: skip
TACHOMETERS = {"kind": "tachometers", "joints": ["shoulder", "elbow"], "rate_noise_rad_s": 1e-3}
BOTH = {"devices.second": SECOND, "devices.rates": TACHOMETERS}


def sensors(**table: Any) -> JointSensors:
    return JointSensors(kind="joint_sensors", joints=("hip",), **table)


def test_updates_one_after_the_other_are_the_least_squares_estimate() -> None:
    """Of the state a period before and now, given all frames at once."""
    devices: list[JointDevice] = [
        sensors(angle_noise_rad=2e-4, angle_offset_rad=1e-3, filter_a_rad_s=100.0, filter_b_rad_s=100.0),
        sensors(angle_noise_rad=4e-4, angle_offset_rad=5e-4),
        Tachometers(kind="tachometers", joints=("hip",), rate_noise_rad_s=1e-3),
    ]
    filters, ages = joint_filters(devices, 0.2, PERIOD), (0.3, 0.9, 0.0)
    n = len(filters[0].F)
    assert n == 6  # angle, rate, two states of a rate filter, two offsets
    P_before = first_covariance(devices).reshape(n, n) + 1e-9 * np.eye(n)
    spread, measured, rows = filters[0].spread(ca.DM(P_before)), [], []
    joint = np.block([[np.array(spread.P), np.array(spread.both)], [np.array(spread.both).T, P_before]])
    x, rng = np.zeros(2 * n), np.random.default_rng(3)
    for this, s in zip(filters, ages, strict=True):
        H = np.hstack([(1 - s) * this.C, s * this.C])
        value = 1e-3 * rng.standard_normal(len(H))
        update = this.update(spread, s)
        x = x + np.vstack([np.array(update.K), np.array(update.K_before)]) @ (value - H @ x)
        spread = update.after(spread)
        measured.append(value)
        rows.append((H, this.R))
    H, R = np.vstack([rows_of for rows_of, _ in rows]), block_diag(*(noise for _, noise in rows))
    gain = joint @ H.T @ np.linalg.inv(H @ joint @ H.T + R)
    np.testing.assert_allclose(x, gain @ np.concatenate(measured), rtol=1e-6, atol=1e-12)
    after = (joint - gain @ H @ joint)[:n, :n]
    np.testing.assert_allclose(np.array(spread.P), after, rtol=1e-6, atol=1e-15)


def errors(changes: dict[str, Any], seeds: range) -> tuple[Array, Array, Array]:
    """Root mean square of the errors of angles and rates, their NEES, and the stated deviation, from 3 s on."""
    squares, scaled, stated = [], [], []
    for seed in seeds:
        log = simulate_in_memory(load("free-flyer", {"loop.duration_s": 6.0, "seed": seed, **changes}), keep=False)
        late, columns = log.rows[600:], log.channels.columns
        error, deviation = [], []
        for entry, spread in (("q", "deviation"), ("u", "rate_deviation")):
            error.append((late[:, columns("/state", entry)] - late[:, columns("/truth", entry)])[:, 3:])
            deviation.append(late[:, columns("/state", spread)][:, 3:])
        e, d = np.hstack(error), np.hstack(deviation)
        squares.append((e**2).mean(axis=0))
        scaled.append(((e / d) ** 2).mean(axis=0))
        stated.append(d.mean(axis=0))
    return np.sqrt(np.mean(squares, axis=0)), np.mean(scaled, axis=0), np.mean(stated, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [30, pytest.param(100, marks=pytest.mark.study)], ids=["few", "hundred"])
def test_two_encoders_have_a_smaller_offset_and_a_right_deviation(seeds: int) -> None:
    """Two offsets of equal deviation leave 1 / sqrt(2) of it."""
    one, _, stated_one = errors({}, range(400, 400 + seeds))
    two, nees, stated_two = errors(BOTH, range(400, 400 + seeds))
    print(f"angles [mrad], rates [mrad/s]: {1e3 * one} with one, {1e3 * two} with two and tachometers, NEES {nees}")
    assert stated_two[1] / stated_one[1] == pytest.approx(1 / np.sqrt(2), rel=0.05)
    chance = 1.96 * np.sqrt(2 / seeds)
    assert abs(nees[:2] - 1).max() < chance + 0.1
    assert (two[2:] < one[2:]).all()


def offset(at_s: float, device: str, unit: str, value: float, duration_s: float) -> dict[str, Any]:
    return {
        "at_s": at_s, "kind": "fault", "device": device, "what": "offset", "unit": unit, "value": value,
        "duration_s": duration_s,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("device", "unit", "value"),
    [
        ("second", "elbow_angle_rad", 0.05),
        pytest.param("rates", "elbow_rate_rad_s", 0.2, marks=pytest.mark.slow),
    ],
)
def test_a_bad_one_is_named_and_left_out(device: str, unit: str, value: float) -> None:
    fault = offset(3.0, device, unit, value, 1.0)
    log = granite.simulate(granite.load("free-flyer", {**BOTH, "loop.duration_s": 4.5, "simulation.events": [fault]}))
    assert log.summary["ended"] == "completed"
    refused = [event for event in log.events if event["name"] == "measurement_refused"]
    assert refused
    assert all(device in str(event) for event in refused)
    assert np.abs(log["/state"].elbow_rad - log["/truth"].elbow_rad)[log.t > 3.0].max() < 5e-3


@pytest.mark.slow
def test_the_better_one_of_two_is_left_out_too_when_it_is_bad() -> None:
    """All joints of the bad device need another sensor."""
    every = {**SECOND, "joints": ["shoulder", "elbow"]}
    fault = offset(3.0, "joint_sensors", "elbow_angle_rad", 0.05, 1.0)
    changes = {"devices.second": every, "loop.duration_s": 4.5, "simulation.events": [fault]}
    log = granite.simulate(granite.load("free-flyer", changes))
    assert log.summary["ended"] == "completed"
    assert np.abs(log["/state"].elbow_rad - log["/truth"].elbow_rad)[log.t > 3.0].max() < 5e-3


@pytest.mark.slow
def test_two_that_contradict_each_other_from_the_start_end_the_run_by_name() -> None:
    fault = offset(0.0, "second", "elbow_angle_rad", 0.05, 10.0)
    changes = {"devices.second": SECOND, "loop.duration_s": 1.0, "simulation.events": [fault]}
    log = granite.simulate(granite.load("free-flyer", changes))
    assert log.summary["ended"] == "sensor_outliers"
    assert "second elbow_angle" in log.summary["text"]
    assert log.summary["ended_at_s"] < 0.3


def test_several_offsets_of_a_joint_that_a_target_would_find_are_refused() -> None:
    with pytest.raises(InputError, match="2 sensors measure the angle of 'elbow', on which a pose depends"):
        granite.simulate(granite.load("free-flyer/hand-target", {"devices.second": SECOND, "loop.duration_s": 0.1}))


@pytest.mark.parametrize("devices", [BOTH, pytest.param({"devices.rates": TACHOMETERS}, marks=pytest.mark.slow)])
def test_a_run_with_several_has_the_bits_of_the_loop(devices: dict[str, Any]) -> None:
    if find_compiler() is None:
        pytest.skip("compiled runs need a C compiler")
    assert_equal_to_the_bit(load("free-flyer", {**devices, "loop.duration_s": 1.0}))
