import math

import numpy as np
import pytest

from granite.config.loader import load
from granite.sim.lab import Lab

ALL, NONE = np.ones(8), np.zeros(8)


def lab(*overrides):
    made = Lab(load("free-flyer", overrides=list(overrides)))
    return made.plant, made.device("thrusters")


def test_thrust_droops_with_what_the_tank_has_given():
    plant, thrusters = lab("devices.thrusters.simulated.tank_n_s=20.0")
    thrusters.write(0.0, ALL)
    plant.advance(2.0)
    [left] = plant.impulse_left
    assert left == pytest.approx(20.0 * math.exp(-8.0 / 20.0 * (2.0 - 0.004 - 0.0015)), rel=1e-9)
    assert left + plant.impulse_used == pytest.approx(20.0, rel=1e-12)
    plant.advance(2.001)
    np.testing.assert_allclose(plant.thrust, 0.5 * (left + plant.impulse_left[0]) / 20.0, rtol=1e-6)


def test_without_a_tank_the_thrust_stays():
    plant, thrusters = lab("devices.thrusters.simulated.tank_n_s=none")
    thrusters.write(0.0, ALL)
    plant.advance(2.0)
    plant.advance(2.005)
    np.testing.assert_allclose(plant.thrust, 1.0, rtol=1e-12)
    assert math.isnan(plant.impulse_left[0])
    assert plant.impulse_used == pytest.approx(8.0 * (2.005 - 0.004 - 0.0015), rel=1e-9)


def test_ideal_thrusters_throttle_at_once_and_for_ever():
    plant, thrusters = lab("devices.thrusters.simulated.ideal=true", "devices.thrusters.simulated.tank_n_s=1.0")
    wanted = np.array([0.0, 0.25, 1.0, 0.5, 0.0, 0.1, 2.0, -1.0])
    applied = thrusters.write(0.0, wanted).values
    np.testing.assert_array_equal(applied, np.clip(wanted, 0.0, 1.0))
    plant.advance(10.0)
    np.testing.assert_allclose(plant.thrust, applied, rtol=1e-12)
    assert plant.impulse_used == pytest.approx(10.0 * applied.sum())


def test_real_valves_open_after_their_delay():
    plant, thrusters = lab()
    thrusters.write(0.0, ALL)
    plant.advance(0.004)
    assert not plant.thrust.any()
    plant.advance(0.007)
    np.testing.assert_allclose(plant.thrust, 0.5, rtol=1e-4)
    plant.advance(0.010)
    np.testing.assert_allclose(plant.thrust, 1.0, rtol=1e-4)


def test_a_pulse_shorter_than_the_valve_can_make_is_lengthened_and_reported():
    plant, thrusters = lab()
    thrusters.write(0.0, ALL)
    np.testing.assert_array_equal(thrusters.write(0.005, NONE).values, ALL)
    np.testing.assert_array_equal(thrusters.write(0.010, NONE).values, NONE)
    plant.advance(0.1)
    assert plant.impulse_used == pytest.approx(8 * 0.010, rel=1e-4)


def test_stop_closes_the_valves_however_short_they_were_open():
    plant, thrusters = lab()
    thrusters.write(0.0, ALL)
    thrusters.stop(0.009)
    used = plant.impulse_used
    assert used > 0.0
    plant.advance(0.2)
    assert not plant.thrust.any()
    assert plant.impulse_used == used
    np.testing.assert_array_equal(thrusters.write(0.2, NONE).values, NONE)


def test_a_failed_thruster_gives_nothing():
    plant, thrusters = lab("devices.thrusters.units.r3.failed=true")
    applied = thrusters.write(0.0, ALL).values
    np.testing.assert_array_equal(applied, ALL)
    plant.advance(0.1)
    plant.advance(0.105)
    assert plant.thrust[2] == 0.0
    assert np.all(np.delete(plant.thrust, 2) > 0.99)


def test_thrust_of_a_tick_is_the_mean_over_its_steps():
    plant, thrusters = lab()
    thrusters.write(0.0, ALL)
    plant.advance(0.010)
    np.testing.assert_allclose(plant.thrust.sum() * 0.010, plant.impulse_used, rtol=1e-12)


def test_a_thruster_that_is_stuck_open_pushes_from_the_start_and_through_a_stop():
    plant, thrusters = lab("devices.thrusters.simulated.stuck_open=['r3']", "devices.thrusters.simulated.tank_n_s=none")
    np.testing.assert_array_equal(thrusters.write(0.0, NONE).values, NONE)
    plant.advance(0.1)
    np.testing.assert_allclose(plant.thrust, np.eye(8)[2], rtol=1e-12)
    thrusters.stop(0.1)
    plant.advance(0.2)
    np.testing.assert_allclose(plant.thrust, np.eye(8)[2], rtol=1e-12)
