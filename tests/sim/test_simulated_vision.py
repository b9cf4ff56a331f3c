import math

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.sim.devices.vision import SimulatedVision
from tests.support.prescribed import new_frames, swaying, swaying_pose

NO_NOISE = ["devices.vision.position_noise_m=0.0", "devices.vision.heading_noise_rad=0.0"]
NO_JITTER = ["devices.vision.simulated.latency_jitter_s=0.0"]
NO_DROPOUT = ["devices.vision.simulated.dropout_probability=0.0"]


def camera(overrides, seed=0):
    return swaying("free-flyer", list(overrides), SimulatedVision, seed)


def frames(sensor, duration, period=0.001):
    return new_frames(sensor, duration, period)


def test_a_picture_shows_the_pose_at_its_exposure():
    arrivals = frames(camera([*NO_NOISE, *NO_DROPOUT]), 3.0)
    assert len(arrivals) > 170
    for k, (_, frame) in enumerate(arrivals):
        assert frame.t == pytest.approx(k / 60.0, abs=1e-12)
        np.testing.assert_allclose(frame.values, swaying_pose(frame.t), atol=1e-6)  # 500 times below the noise


def test_a_picture_arrives_its_latency_after_the_exposure():
    for read_at, frame in frames(camera([*NO_JITTER, *NO_DROPOUT]), 3.0):
        assert -1e-9 <= read_at - (frame.t + 0.035) < 0.001


def test_jitter_spreads_the_arrival_evenly_and_keeps_the_order():
    arrivals = frames(camera([*NO_DROPOUT, "devices.vision.simulated.latency_jitter_s=0.03"]), 20.0)
    taken = np.array([frame.t for _, frame in arrivals])
    delay = np.array([read_at for read_at, _ in arrivals]) - taken
    assert np.all(np.diff(taken) > 0)
    assert delay.min() >= 0.005 - 1e-9
    assert delay.max() <= 0.066
    assert delay.min() < 0.007
    assert delay.max() > 0.063


def test_a_jitter_beyond_the_latency_shows_nothing_before_it_happens():
    for read_at, frame in frames(camera([*NO_DROPOUT, "devices.vision.simulated.latency_jitter_s=0.2"]), 10.0):
        assert read_at >= frame.t - 1e-9


def test_without_latency_a_picture_is_there_at_once():
    arrivals = frames(
        camera([*NO_JITTER, *NO_DROPOUT, "devices.vision.latency_s=0.0", "devices.vision.rate_hz=50.0"]), 1.0
    )
    assert [frame.number for _, frame in arrivals] == list(range(1, 51))
    for read_at, frame in arrivals:
        assert read_at == pytest.approx(frame.t, abs=1e-9)


def test_as_many_pictures_are_lost_as_configured():
    device = camera(["devices.vision.simulated.dropout_probability=0.3"])
    count = device.read(100.0).number
    assert count == pytest.approx(0.7 * 5998, abs=4 * math.sqrt(0.3 * 0.7 * 5998))


def test_no_picture_comes_when_all_are_lost():
    assert camera(["devices.vision.simulated.dropout_probability=1.0"]).read(5.0).number == 0


def test_noise_has_the_deviation_of_the_data_sheet():
    arrivals = frames(camera(NO_DROPOUT), 40.0, 0.005)
    error = np.array([frame.values - swaying_pose(frame.t) for _, frame in arrivals])
    np.testing.assert_allclose(error.std(axis=0), [5e-4, 5e-4, 1e-3], rtol=0.06)
    np.testing.assert_allclose(error.mean(axis=0), 0.0, atol=1e-4)


def test_heavy_tails_keep_the_deviation_and_have_the_kurtosis_of_students_t():
    arrivals = frames(camera([*NO_DROPOUT, "devices.vision.simulated.tail_freedom=9"]), 150.0, 0.005)
    error = np.array([frame.values - swaying_pose(frame.t) for _, frame in arrivals]) / [5e-4, 5e-4, 1e-3]
    np.testing.assert_allclose(error.std(axis=0), 1.0, rtol=0.04)
    # Of t with n degrees of freedom: 3 + 6 / (n - 4); 3 is that of normal numbers.
    assert np.mean(error**4) == pytest.approx(3 + 6 / 5, rel=0.1)
    # A bad frame is bad in all values: their squares go together, as E[x^2 y^2] = (n - 2) / (n - 4).
    assert np.mean(error[:, 0] ** 2 * error[:, 2] ** 2) == pytest.approx(7 / 5, rel=0.1)


@pytest.mark.slow
def test_bursts_lose_frames_in_a_row_as_often_and_as_long_as_configured():
    arrivals = frames(
        camera([*NO_DROPOUT, "devices.vision.simulated.bursts={per_s=0.5, duration_s=0.2}"]), 400.0, 0.005
    )
    exposed = np.rint(60 * np.array([frame.t for _, frame in arrivals])).astype(int)
    gaps = np.diff(exposed)[np.diff(exposed) > 1] - 1
    # Geometric lengths of 12 frames in the mean; a burst begins at 0.5 / 60 of the frames outside one.
    assert gaps.mean() == pytest.approx(12, rel=0.25)
    assert gaps.std() == pytest.approx(np.sqrt(12 * 11), rel=0.35)
    assert len(gaps) == pytest.approx(0.5 / 60 * len(arrivals), rel=0.2)


def test_a_swap_turns_and_shifts_the_pose_for_some_frames():
    swaps = "devices.vision.simulated.swaps={per_s=1.0, duration_s=0.1, turn_rad=3.0, shift_m=0.05}"
    arrivals = frames(camera([*NO_NOISE, *NO_DROPOUT, swaps]), 100.0, 0.005)
    error = np.array([frame.values - swaying_pose(frame.t) for _, frame in arrivals])
    swapped = np.abs(error[:, 2]) > 1.0
    assert swapped.mean() == pytest.approx(0.1 / 1.1, rel=0.3)
    np.testing.assert_allclose(error[swapped, 2], 3.0, atol=1e-6)
    np.testing.assert_allclose(np.hypot(*error[swapped, :2].T), 0.05, atol=1e-6)
    np.testing.assert_allclose(error[~swapped], 0.0, atol=1e-6)
    same = swapped[1:] & swapped[:-1]
    np.testing.assert_allclose(error[1:][same, :2], error[:-1][same, :2], atol=1e-6)  # one direction in an episode
    assert len(np.unique(np.rint(1e3 * np.arctan2(*error[swapped, :2].T)))) > 30


def test_the_latency_wanders_about_its_mean():
    wander = ["devices.vision.simulated.latency_wander_s=0.02", "devices.vision.simulated.latency_wander_period_s=10"]
    arrivals = frames(camera([*NO_JITTER, *NO_DROPOUT, *wander]), 20.0)
    t, delay = (
        np.array([frame.t for _, frame in arrivals]),
        np.array([read_at - frame.t for read_at, frame in arrivals]),
    )
    waves = np.column_stack([np.ones_like(t), np.sin(math.tau * t / 10), np.cos(math.tau * t / 10)])
    (mean, *amplitudes), *_ = np.linalg.lstsq(waves, delay, rcond=None)
    assert mean == pytest.approx(0.035, abs=1e-3)
    assert np.hypot(*amplitudes) == pytest.approx(0.02, abs=1e-3)


def test_the_clock_of_the_camera_is_off_and_drifts_and_the_pose_is_that_of_the_exposure():
    clock = ["devices.vision.simulated.clock_offset_s=0.004", "devices.vision.simulated.clock_drift_ppm=100"]
    rates = []
    for seed in range(8):
        seen = frames(camera([*NO_NOISE, *NO_JITTER, *NO_DROPOUT, *clock], seed), 6.0, 0.005)
        exposed = np.arange(len(seen)) / 60
        error = np.array([frame.t for _, frame in seen]) - exposed
        rate, offset = np.polyfit(exposed, error, 1)
        assert abs(offset) <= 0.004
        np.testing.assert_allclose(error, offset + rate * exposed, atol=1e-9)
        np.testing.assert_allclose([frame.values for _, frame in seen], [swaying_pose(t) for t in exposed], atol=1e-6)
        rates.append(1e6 * rate)
    assert 50 < np.abs(rates).max() <= 100


REFUSED = {
    "a burst shorter than a frame": ("bursts={per_s=1, duration_s=0.01}", "bursts.duration_s", "two frames, 0.0167"),
    "more swaps than frames": ("swaps={per_s=100, duration_s=1, turn_rad=1}", "swaps.per_s", "at most rate_hz = 60"),
    "a swap that changes nothing": ("swaps={per_s=1, duration_s=1}", "swaps", "a `module`, a `turn_rad` or"),
    "a swap with nobody": ("swaps={per_s=1, duration_s=1, module='mate'}", "swaps.module", "no other planar module"),
    "tails without a deviation": ("tail_freedom=2", "tail_freedom", "greater than 2"),
}


@pytest.mark.parametrize(("key", "named", "expected"), REFUSED.values(), ids=REFUSED)
def test_errors_of_vision_that_make_no_sense_are_refused(key: str, named: str, expected: str):
    with pytest.raises(InputError) as refusal:
        load("free-flyer", [f"devices.vision.simulated.{key}"])
    assert refusal.value.key == f"devices.vision.simulated.{named}"
    assert expected in str(refusal.value)


def test_before_the_first_picture_there_is_none():
    frame = camera([]).read(0.01)
    assert frame.number == 0
    assert np.isnan(frame.values).all()


def test_perfect_vision_tells_the_truth_at_every_tick():
    device = camera(["devices.vision.simulated.perfect=true"])
    for k in range(20):
        frame = device.read(0.005 * k)
        assert (frame.t, frame.number) == (0.005 * k, k + 1)
        np.testing.assert_allclose(frame.values, swaying_pose(0.005 * k), rtol=1e-12)


def test_no_fault_changes_the_draws_of_another():
    def errors(*overrides):
        return {frame.t: frame.values - swaying_pose(frame.t) for _, frame in frames(camera(overrides), 5.0)}

    every = errors()
    for other in (
        errors(*NO_DROPOUT),
        errors(*NO_JITTER),
        errors("devices.vision.simulated.dropout_probability=0.5"),
        errors("devices.vision.simulated.bursts={per_s=1.0, duration_s=0.1}"),
    ):
        shared = set(every) & set(other)
        assert len(shared) > 100
        assert all(np.array_equal(every[t], other[t]) for t in shared)


def test_a_camera_for_a_fixed_robot_is_refused():
    fixed = ["modules.vehicle.base=fixed", "devices.thrusters=none", "behaviour.waypoints=[]", "simulation.initial={}"]
    with pytest.raises(InputError, match="no module floats") as refusal:
        load("free-flyer", overrides=fixed)
    assert refusal.value.key == "devices.vision.module"
