import numpy as np

from granite.config.loader import load
from granite.sim.lab import build_lab
from tests.mrds.model import Model


def test_torque_is_limited_and_reported():
    _, devices = build_lab(load("free-flyer"))
    np.testing.assert_array_equal(devices.motors.write(0.0, np.array([5.0, -3.0])), [2.0, -1.0])
    np.testing.assert_array_equal(devices.motors.write(0.0, np.array([0.3, -0.2])), [0.3, -0.2])


def test_the_limited_torque_is_what_moves_the_robot_until_the_next_one():
    bed = load("free-flyer", overrides=["simulation.table.ideal=true", "simulation.initial={}"])
    plant, devices = build_lab(bed)
    devices.motors.write(0.0, np.array([50.0, 0.0]))
    plant.advance(0.002)
    model = Model(bed.robot)
    want = 0.002 * model.forward_dynamics(np.zeros(5), np.zeros(5), [0.0, 0.0, 0.0, 2.0, 0.0])
    np.testing.assert_allclose(plant.u, want, rtol=0.02)


def test_stop_is_no_torque_at_once():
    bed = load("free-flyer", overrides=["simulation.table.ideal=true", "simulation.initial={}"])
    plant, devices = build_lab(bed)
    model = Model(bed.robot)
    devices.motors.write(0.0, np.array([1.0, 0.5]))
    devices.motors.stop(0.1)
    energy = model.kinetic_energy(plant.q, plant.u)
    plant.advance(0.2)
    assert energy > 0.01
    assert abs(model.kinetic_energy(plant.q, plant.u) / energy - 1) < 1e-9
