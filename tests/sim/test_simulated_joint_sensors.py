import numpy as np
import pytest

from granite.config.loader import load
from granite.sim.devices.joint_sensors import SimulatedJointSensors
from tests.support.prescribed import PrescribedMotion

NO_NOISE = ["devices.joint_sensors.angle_noise_rad=0.0", "devices.joint_sensors.rate_noise_rad_s=0.0"]
NO_OFFSET = ["devices.joint_sensors.angle_offset_rad=0.0"]


def sensors(overrides, angle=0.4, rate=0.0, seed=0):
    bed = load("free-flyer", overrides=list(overrides))
    plant = PrescribedMotion(
        bed,
        lambda t: np.array([0.0, 0.0, 0.0, angle + rate * t, 2 * (angle + rate * t)]),
        lambda t: np.array([0.0, 0.0, 0.0, rate, 2 * rate]),
    )
    return SimulatedJointSensors(bed.devices["joint_sensors"], plant, np.random.default_rng(seed))


def test_angles_come_in_steps_of_the_converter():
    device = sensors([*NO_NOISE, *NO_OFFSET, "devices.joint_sensors.converter_bits=8"], angle=-1.0, rate=0.5)
    angles = np.array([device.read(0.005 * k).values[0] for k in range(800)])
    quantum = 2 * np.pi / 2**8
    np.testing.assert_allclose(np.diff(np.unique(angles)), quantum, rtol=1e-9)
    assert 0.0 in angles
    assert np.abs(angles - (-1.0 + 0.5 * 0.005 * np.arange(800))).max() <= quantum / 2 + 1e-12


def test_angles_saturate_at_the_ends_of_the_range():
    overrides = [
        *NO_NOISE,
        *NO_OFFSET,
        "devices.joint_sensors.range_rad=2.0",
        "devices.joint_sensors.converter_bits=10",
    ]
    quantum = 2.0 / 2**10
    assert sensors(overrides, angle=3.0).read(0.0).values[0] == pytest.approx(1.0 - quantum)
    assert sensors(overrides, angle=-3.0).read(0.0).values[0] == pytest.approx(-1.0)


def test_a_plant_that_has_blown_up_reads_as_no_number():
    assert np.isnan(sensors([], angle=np.nan, rate=np.nan).read(0.005).values).all()


def test_offset_moves_the_angle_and_not_the_rate():
    plain = sensors([*NO_NOISE, *NO_OFFSET], rate=0.1).read(0.5).values
    fixed = [*NO_NOISE, *NO_OFFSET, "devices.joint_sensors.simulated.offset_rad={shoulder=0.1}"]
    moved = sensors(fixed, rate=0.1).read(0.5).values
    np.testing.assert_allclose(moved - plain, [0.1, 0.0, 0.0, 0.0], atol=1.01 * 2 * np.pi / 2**16)


def test_the_seed_draws_offsets_with_the_deviation_of_the_data_sheet():
    fine = [
        *NO_NOISE,
        "devices.joint_sensors.converter_bits=32",
        "devices.joint_sensors.simulated.offset_rad={elbow=0.1}",
    ]
    readings = np.array([sensors(fine, seed=seed).read(0.0).values for seed in range(200)])
    offsets = readings[:, 0] - 0.4
    # The deviation of 200 numbers is known to 5 %, their mean to 7 % of it.
    assert np.sqrt(np.mean(offsets**2)) == pytest.approx(8e-4, rel=0.15)
    assert abs(offsets.mean()) < 0.2 * 8e-4
    np.testing.assert_allclose(readings[:, 1:], [[0.9, 0.0, 0.0]] * 200, atol=1e-8)


def test_an_eccentric_disc_errs_once_a_turn_and_its_rate_is_the_slope_of_its_angle():
    eccentric = [*NO_NOISE, *NO_OFFSET, "devices.joint_sensors.converter_bits=32"]
    eccentric += ["devices.joint_sensors.range_rad=20.0", "devices.joint_sensors.simulated.eccentricity_rad=0.01"]
    t, rate = 0.005 * np.arange(2000), 0.7
    device = sensors(eccentric, angle=0.0, rate=rate)
    angle, _, slope, _ = np.array([device.read(x).values for x in t]).T
    error = angle - rate * t
    waves = np.column_stack([np.sin(rate * t), np.cos(rate * t)])
    amplitudes, *_ = np.linalg.lstsq(waves, error, rcond=None)
    np.testing.assert_allclose(error, waves @ amplitudes, atol=1e-8)
    assert np.hypot(*amplitudes) == pytest.approx(0.01, rel=1e-6)
    np.testing.assert_allclose(slope[1:-1], (angle[2:] - angle[:-2]) / 0.01, atol=1e-6)


def test_noise_has_the_deviation_of_the_data_sheet():
    device = sensors([*NO_OFFSET, "devices.joint_sensors.converter_bits=24"])
    values = np.array([device.read(0.005 * k).values for k in range(4000)])
    np.testing.assert_allclose(values.std(axis=0), [2e-4, 2e-4, 2e-3, 2e-3], rtol=0.05)
    np.testing.assert_allclose(values.mean(axis=0), [0.4, 0.8, 0.0, 0.0], atol=2e-4)
    correlation = np.corrcoef(values.T) - np.eye(4)
    assert np.abs(correlation).max() < 0.06


def test_perfect_sensors_tell_the_truth():
    device = sensors(["devices.joint_sensors.simulated.perfect=true"], rate=0.3)
    for k in range(10):
        t = 0.005 * k
        frame = device.read(t)
        assert (frame.t, frame.number) == (t, k + 1)
        np.testing.assert_allclose(frame.values, [0.4 + 0.3 * t, 0.8 + 0.6 * t, 0.3, 0.6], rtol=1e-12)


def test_the_same_time_gives_the_same_frame():
    device = sensors([])
    first = device.read(0.005)
    assert device.read(0.005) is first
    assert device.read(0.010).number == first.number + 1


def test_slower_sensors_repeat_a_frame_until_the_next_one_is_due():
    device = sensors(["devices.joint_sensors.rate_hz=50", "devices.joint_sensors.simulated.perfect=true"], rate=0.3)
    frames = [device.read(0.005 * k) for k in range(13)]
    assert [frame.number for frame in frames] == [1] * 4 + [2] * 4 + [3] * 4 + [4]
    assert [frame.t for frame in frames[::4]] == pytest.approx([0.0, 0.02, 0.04, 0.06])
    np.testing.assert_allclose(frames[7].values[:2], [0.4 + 0.3 * 0.02, 0.8 + 0.6 * 0.02], rtol=1e-12)
