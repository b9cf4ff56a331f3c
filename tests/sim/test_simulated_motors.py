from __future__ import annotations

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.sim.lab import Lab
from tests.support.dense_model import Model


def lab_with_motors(bed):
    lab = Lab(bed)
    return lab.plant, lab.device("motors")


def test_torque_is_limited_and_reported():
    _, motors = lab_with_motors(load("free-flyer/clean"))
    np.testing.assert_array_equal(motors.write(0.0, np.array([5.0, -3.0])).values, [2.0, -1.0])
    np.testing.assert_array_equal(motors.write(0.0, np.array([0.3, -0.2])).values, [0.3, -0.2])


def test_the_limited_torque_is_what_moves_the_robot_until_the_next_one():
    bed = load("free-flyer/clean", overrides=["simulation.table.ideal=true", "simulation.initial={}"])
    plant, motors = lab_with_motors(bed)
    motors.write(0.0, np.array([50.0, 0.0]))
    plant.advance(0.002)
    model = Model(bed.modules[0])
    want = 0.002 * model.forward_dynamics(np.zeros(5), np.zeros(5), [0.0, 0.0, 0.0, 2.0, 0.0])
    np.testing.assert_allclose(plant.u, want, rtol=0.02)


def test_stop_is_no_torque_at_once():
    bed = load("free-flyer/clean", overrides=["simulation.table.ideal=true", "simulation.initial={}"])
    plant, motors = lab_with_motors(bed)
    model = Model(bed.modules[0])
    motors.write(0.0, np.array([1.0, 0.5]))
    motors.stop(0.1)
    energy = model.kinetic_energy(plant.q, plant.u)
    plant.advance(0.2)
    assert energy > 0.01
    assert abs(model.kinetic_energy(plant.q, plant.u) / energy - 1) < 1e-9


def test_a_wrong_gain_shows_in_the_motion_and_not_in_the_frame():
    level = ["simulation.table.ideal=true", "simulation.initial={}"]
    plain, weak = (
        lab_with_motors(load("free-flyer/clean", overrides=[*level, *more]))
        for more in ([], ["devices.motors.simulated.gain={shoulder=0.5, elbow=0.5}"])
    )
    for plant, motors in (plain, weak):
        frame = motors.write(0.0, np.array([0.4, -0.2]))
        np.testing.assert_array_equal(frame.values, [0.4, -0.2])
        plant.advance(0.001)
    np.testing.assert_allclose(weak[0].u, 0.5 * plain[0].u, rtol=1e-4)


def test_the_seed_draws_gains_within_the_error_of_the_motors():
    def gains(seed):
        bed = load("free-flyer/clean", overrides=["devices.motors.simulated.gain_error=0.05", f"seed={seed}"])
        _, motors = lab_with_motors(bed)
        frame = motors.write(0.0, np.array([1.0, 0.5]))
        np.testing.assert_array_equal(frame.values, [1.0, 0.5])
        return motors.torque / [1.0, 0.5]

    drawn = np.array([gains(seed) for seed in range(1, 9)])
    assert (np.abs(drawn - 1) <= 0.05).all()
    assert np.ptp(drawn, axis=0).min() > 0.01
    np.testing.assert_array_equal(gains(3), drawn[2])


def test_a_wheel_is_not_driven_beyond_its_rate_but_can_brake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    changes = {
        "contacts": [], "behaviour": {"kind": "waypoints"}, "controller": None, "devices.grips": None,
        "simulation.initial.wheel_rad_s": 99.0, "safety": {},
    }  # fmt: skip
    lab = Lab(load("leap/ideal", changes))
    wheel, u = lab.device("wheel"), lab.plant.bed.layout.joint_u("wheel")
    applied = []
    for k in range(40):
        applied.append(wheel.write(0.005 * k, np.array([0.5])).values.item())
    assert applied[0] == 0.5
    assert applied[-1] == 0.0
    assert 100.0 <= lab.plant.u[u] < 100.0 + 0.5 / 0.02 * 0.005 * 1.1
    assert wheel.write(0.2, np.array([-0.5])).values.item() == -0.5
    lab.plant.advance(0.3)
    assert lab.plant.u[u] < 99.0


def test_a_wheel_needs_a_rate() -> None:
    with pytest.raises(InputError, match="rate_limit_rad_s"):
        load("leap", {"devices.wheel.units": [{"joint": "wheel", "torque_limit_n_m": 0.5}]})
