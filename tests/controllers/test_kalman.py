"""The Kalman estimator on two vehicles that float, each with a pose and a joint sensor of its own."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Array, Command, Frame, Sample, State, Status, no_frame
from granite.config.testbed import Testbed as Bed
from granite.controllers.estimation.kalman import KalmanEstimator
from granite.controllers.model import ControlModel
from granite.drivers.device_set import DeviceSet
from granite.sim.lab import Lab
from tests.support.two_vehicles import PERIOD, two_vehicles

pytestmark = pytest.mark.usefixtures("interpreted")

PERFECT = {"simulated": {"perfect": True}}
ENCODER: dict[str, Any] = {"kind": "joint_sensors"}
CAMERA: dict[str, Any] = {"kind": "vision", "body": "base"}


def estimator(bed: Bed) -> KalmanEstimator:
    options = bed.control.estimator
    assert isinstance(options, KalmanEstimator.Options)
    return KalmanEstimator(options, ControlModel(bed))


class Pair:
    """An estimator that is fed by hand: frames by the name of the sensor, actuators at rest."""

    def __init__(self, **more: Any) -> None:
        self.bed = two_vehicles(**more)
        self.estimator = estimator(self.bed)
        self.frames = {name: no_frame(len(d.signals(self.bed))) for name, d in self.bed.sensors.items()}
        self.rest = tuple(
            Frame(0.0, 0, Status.NO_FRAME, np.zeros(len(d.signals(self.bed)))) for d in self.bed.actuators.values()
        )

    def show(self, name: str, t: float, *values: float, number: int | None = None) -> None:
        """A new frame of a sensor."""
        number = self.frames[name].number + 1 if number is None else number
        self.frames[name] = Frame(t, number, Status.OK, np.array(values, dtype=float))

    def estimate(self, t: float) -> State:
        return self.estimator.estimate(Sample(t, tuple(self.frames.values()), self.rest))

    def show_all(self, t: float) -> None:
        self.show("a_encoder", t, 0.3, 0.1)
        self.show("b_encoder", t, -0.4, -0.2)
        self.show("a_camera", t, 1.0, 2.0, 0.5)
        self.show("b_camera", t, 3.0, 4.0, -1.0)


# --- what it waits for, and how old it is ------------------------------------------------------------------------


def test_it_is_ready_when_every_sensor_has_reported() -> None:
    pair = Pair()
    assert list(pair.frames) == ["a_encoder", "a_camera", "b_encoder", "b_camera"]
    reports = {"b_camera": (3, 4, -1), "a_encoder": (0.3, 0), "b_encoder": (-0.4, 0), "a_camera": (1, 2, 0.5)}
    for k, (name, values) in enumerate(reports.items()):
        assert not pair.estimate(k * PERIOD).ready
        pair.show(name, k * PERIOD, *values)
    state = pair.estimate(4 * PERIOD)
    assert state.ready
    np.testing.assert_allclose(state.q, [1.0, 2.0, 0.5, 0.3, 3.0, 4.0, -1.0, -0.4], atol=1e-3)


def test_ages_are_those_of_the_newest_frames_and_unknown_before_the_first() -> None:
    pair = Pair()
    assert np.isnan(pair.estimate(0.0).ages).all()
    pair.show("a_camera", 0.002, 1.0, 2.0, 0.5)
    np.testing.assert_allclose(pair.estimate(0.01).ages, [np.nan, 0.008, np.nan, np.nan])
    pair.show("b_encoder", 0.015, 0.1, 0.0)
    np.testing.assert_allclose(pair.estimate(0.015).ages, [np.nan, 0.013, 0.0, np.nan])
    np.testing.assert_allclose(pair.estimate(0.02).ages, [np.nan, 0.018, 0.005, np.nan])


def test_the_first_frames_are_taken_as_they_are() -> None:
    pair = Pair()
    pair.show_all(0.0)
    state = pair.estimate(0.0)
    assert state.ready
    np.testing.assert_allclose(state.q, [1.0, 2.0, 0.5, 0.3, 3.0, 4.0, -1.0, -0.4])
    np.testing.assert_allclose(state.u, [0, 0, 0, 0.1, 0, 0, 0, -0.2])


def test_a_frame_that_is_not_finite_is_not_used_and_ages() -> None:
    pair = Pair()
    pair.show_all(0.0)
    pair.estimate(0.0)
    pair.show("a_encoder", PERIOD, math.nan, 0.0)
    pair.show("b_camera", PERIOD, 3.0, math.inf, 0.0)
    state = pair.estimate(PERIOD)
    assert np.isfinite(state.q).all()
    assert np.isfinite(state.u).all()
    np.testing.assert_allclose(state.ages, [PERIOD] * 4)


def test_the_same_frame_counts_once() -> None:
    once, twice = Pair(), Pair()
    for pair in (once, twice):
        pair.show_all(0.0)
        pair.estimate(0.0)
    for name in twice.frames:
        twice.show(name, PERIOD, *(twice.frames[name].values + 1.0), number=1)
    np.testing.assert_array_equal(twice.estimate(PERIOD).q, once.estimate(PERIOD).q)


def test_a_sensor_corrects_its_own_module_and_no_other() -> None:
    plain, moved = Pair(), Pair()
    for pair in (plain, moved):
        pair.show_all(0.0)
        pair.estimate(0.0)
    moved.show("b_camera", PERIOD, 3.003, 4.0, -1.0)
    plain.show("b_camera", PERIOD, 3.0, 4.0, -1.0)
    off = moved.estimate(PERIOD).q - plain.estimate(PERIOD).q
    assert off[4] > 1e-4
    np.testing.assert_allclose(np.delete(off, 4), 0.0, atol=1e-12)


def test_a_correction_of_joint_rates_changes_no_momentum() -> None:
    """The bases turn and move against it; a pose at the same tick adds its own correction."""
    pair = Pair()
    model = ControlModel(pair.bed)
    mass_matrix = ca.Function("M", [model.q], [model.mass_matrix])
    pair.show_all(0.0)
    for k in range(4):
        before = pair.estimate(k * PERIOD)
    t = 4 * PERIOD
    pair.show("a_encoder", t, 0.31, 0.6)
    pair.show("b_encoder", t, -0.41, -0.7)
    pair.show("b_camera", t, 3.003, 4.0, -1.0)
    state = pair.estimate(t)
    impulse = mass_matrix(before.q).full() @ state.correction
    assert abs(state.correction[3]) > 0.01
    assert np.abs(state.correction[:3]).min() > 1e-5
    np.testing.assert_allclose(impulse[:3], 0.0, atol=1e-12)
    # All of what measurements added to the velocities is reported.
    added = state.u - before.u
    np.testing.assert_allclose(added, state.correction, atol=0.1 * np.abs(state.correction[:3]).max())
    assert np.abs(impulse[4:7]).max() > 1e-3


def test_each_coordinate_has_the_deviation_of_its_own_sensor() -> None:
    pair = Pair(devices={"b_camera": {**CAMERA, "module": "b", "position_noise_m": 5e-3}})
    pair.show_all(0.0)
    pair.estimate(0.0)
    deviation = pair.estimate(PERIOD).deviation
    assert np.isfinite(deviation).all()
    assert deviation[4] > 5 * deviation[0]
    assert deviation[3] == pytest.approx(2e-4, rel=0.05)


# --- against the plant -------------------------------------------------------------------------------------------


class Track(NamedTuple):
    """What was estimated and what was true, tick by tick."""

    q: Array
    u: Array
    true_q: Array
    true_u: Array
    deviation: Array

    def error(self, last: int = 200) -> tuple[Array, Array]:
        """The largest of each coordinate over the last ticks."""
        return (
            np.abs(self.q - self.true_q)[-last:].max(axis=0),
            np.abs(self.u - self.true_u)[-last:].max(axis=0),
        )


def track(bed: Bed, ticks: int = 600) -> Track:
    """Estimates while motors and thrusters follow a programme, which the estimator knows only as applied."""
    lab, estimates = Lab(bed), estimator(bed)
    sensors, actuators = ({name: lab.device(name) for name in names} for names in (bed.sensors, bed.actuators))
    devices, known = DeviceSet(bed, sensors, actuators), [c.name for c in bed.known.positions]
    picked = [[c.name for c in bed.positions].index(name) for name in known]
    rows: list[tuple[Array, ...]] = []
    for k in range(ticks):
        t = k * PERIOD
        state = estimates.estimate(devices.read(t))
        rows.append((state.q, state.u, lab.plant.q[picked], lab.plant.u[picked], state.deviation))
        setpoints = []
        for name, device in bed.actuators.items():
            n = len(device.signals(bed))
            if "motor" in name:
                setpoints.append(np.full(n, 0.05 * math.sin(0.02 * k + len(setpoints))))
            else:
                setpoints.append(np.array([float((k // (20 + 3 * i)) % 4 == 0) for i in range(n)]))
        devices.write(t, Command(t, tuple(setpoints), np.zeros(len(bed.thrusters))))
    return Track(*(np.array(column) for column in zip(*rows, strict=True)))


def test_with_perfect_sensors_it_follows_the_plant() -> None:
    perfect = {
        "a_encoder": {**ENCODER, "joints": ["a_hip"], **PERFECT},
        "b_encoder": {**ENCODER, "joints": ["b_hip"], **PERFECT},
        "a_camera": {**CAMERA, "module": "a", **PERFECT},
        "b_camera": {**CAMERA, "module": "b", **PERFECT},
    }
    estimates = track(two_vehicles(devices=perfect))
    assert np.ptp(estimates.true_q, axis=0).min() > 0.05
    q, u = estimates.error()
    assert q.max() < 2e-5
    assert u.max() < 1e-3


def test_with_late_and_noisy_sensors_errors_are_those_of_the_deviation() -> None:
    estimates = track(two_vehicles())
    q, u = estimates.error()
    assert (q < 6 * estimates.deviation[-1]).all()
    assert u.max() < 0.04
    # Speed times latency is 4 mm for a and 2 mm for b.
    assert q[[0, 1, 4, 5]].max() < 1.5e-3


@pytest.mark.slow
def test_slower_joint_sensors_do_not_make_it_diverge() -> None:
    slow = {"a_encoder": {**ENCODER, "joints": ["a_hip"], "rate_hz": 20.0}}
    slow |= {"b_encoder": {**ENCODER, "joints": ["b_hip"], "rate_hz": 10.0, "filter_a_rad_s": 100.0,
                           "filter_b_rad_s": 80.0}}  # fmt: skip
    estimates, fast = track(two_vehicles(devices=slow), 1200), track(two_vehicles(), 1200)
    q, u = estimates.error(800)
    assert q[[3, 7]].max() < 3e-3
    assert u[[3, 7]].max() < 0.03
    assert (estimates.deviation[-1, [3, 7]] > fast.deviation[-1, [3, 7]]).all()


def test_the_gain_between_slow_frames_is_that_of_the_time_between_them() -> None:
    """Errors of slow sensors over their own deviation are no larger than those of fast ones would be."""
    slow = {"a_encoder": {**ENCODER, "joints": ["a_hip"], "rate_hz": 20.0}}
    estimates = track(two_vehicles(devices=slow), 1200)
    updated = slice(200, None, 10)
    ratio = (estimates.q - estimates.true_q)[updated, 3] / estimates.deviation[-1, 3]
    assert np.sqrt(np.mean(ratio**2)) < 2.0


def test_one_device_may_sense_joints_of_both() -> None:
    both = {"a_encoder": {**ENCODER, "joints": ["b_hip", "a_hip"]}, "b_encoder": None}
    q, _ = track(two_vehicles(devices=both)).error()
    assert q[[3, 7]].max() < 1e-3


def test_a_device_may_sense_joints_that_the_controller_does_not_know() -> None:
    both = {"a_encoder": {**ENCODER, "joints": ["b_hip", "a_hip"]}, "b_encoder": None}
    only_a = {**both, "b_motor": None, "b_jets": None}
    bed = two_vehicles(devices=only_a)
    assert [c.name for c in bed.known.positions] == ["a_base_x", "a_base_y", "a_base_heading", "a_hip"]
    q, u = track(bed).error()
    assert q[3] < 1e-3
    assert u[3] < 0.02


def test_a_known_object_is_estimated_without_actuators() -> None:
    drifting = {"table": {"ideal": True}, "initial": {"b_base_x_m_s": 0.1, "b_hip_rad_s": 0.2}}
    without = {"b_motor": None, "b_jets": None}
    estimates = track(two_vehicles(devices=without, controller={"objects": ["b"]}, simulation=drifting))
    assert np.ptp(estimates.true_q[:, 4]) > 0.2
    q, u = estimates.error()
    assert (q < 6 * estimates.deviation[-1]).all()
    assert u.max() < 0.04


def test_a_skipped_tick_is_two_periods() -> None:
    pair = Pair()
    pair.show_all(0.0)
    pair.estimate(0.0)
    moving = pair.estimate(2 * PERIOD)
    again = Pair()
    again.show_all(0.0)
    for k in range(3):
        stepped = again.estimate(k * PERIOD)
    np.testing.assert_allclose(moving.q, stepped.q, atol=1e-12)
    np.testing.assert_allclose(moving.u, stepped.u, atol=1e-12)


# --- what it refuses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("devices", "key", "said"),
    [
        ({"b_encoder": None}, "devices", "no joint sensor measures 'b_hip'"),
        ({"b_camera": None}, "devices.vision", "a pose of 'base'"),
    ],
)
def test_what_is_not_measured_is_refused(devices: dict[str, Any], key: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refusal:
        estimator(two_vehicles(devices=devices))
    assert refusal.value.key == key


def test_the_angle_of_a_fast_joint_counts_by_how_well_its_time_is_known() -> None:
    """A frame 1 ms late at 20 rad/s is off by 20 mrad, a hundred times the noise; a joint at rest is as it was."""

    def after(rate: float, error: float, time_deviation_s: float) -> tuple[float, float]:
        pair = Pair(devices={"a_encoder": {**ENCODER, "joints": ["a_hip"], "time_deviation_s": time_deviation_s}})
        for k in range(3):
            pair.show_all(k * PERIOD)
            pair.show("a_encoder", k * PERIOD, rate * k * PERIOD, rate)
            state = pair.estimate(k * PERIOD)
        pair.show("a_encoder", 3 * PERIOD, rate * 3 * PERIOD + error, rate)
        state = pair.estimate(3 * PERIOD)
        return state.innovation[0], state.deviation[3]

    assert after(20.0, 0.02, 0.0)[0] > 20
    fast, slow = after(20.0, 0.02, 1e-3), after(0.0, 2e-4, 1e-3)
    assert 0.5 < fast[0] < 1.5
    assert fast[1] == pytest.approx(0.02, rel=0.1)
    assert slow == pytest.approx(after(0.0, 2e-4, 0.0), rel=1e-6)


def test_a_joint_that_turns_starts_where_it_is_by_now() -> None:
    """At 20 rad/s a first frame that is 5 ms old is 0.1 rad behind."""
    wheel = load("stanford-free-flyer/yaw-wheel")
    options = wheel.control.estimator
    assert isinstance(options, KalmanEstimator.Options)
    estimator = KalmanEstimator(options, ControlModel(wheel))
    (joint,) = estimator._joints
    joint.begin(Frame(0.0, 1, 0, np.array([0.5, 20.0])), 0.005, estimator._x)
    assert estimator._x[3] == pytest.approx(0.6)
