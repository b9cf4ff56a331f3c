import numpy as np
import pytest

from granite.config.loader import load
from granite.config.records import Command
from granite.sim.lab import build_lab


def run(*overrides, ticks=400):
    """Samples and true states of a run with a fixed programme of commands."""
    bed = load("free-flyer", overrides=list(overrides))
    plant, devices = build_lab(bed)
    devices.open()
    joints, poses, states = [], [], []
    for k in range(ticks):
        t = k * bed.loop.period_s
        sample = devices.read(t)
        joints.append(np.concatenate([sample.joint_angle, sample.joint_rate]))
        poses.append([sample.pose_taken, sample.pose_count, *sample.pose])
        states.append(np.concatenate([plant.q, plant.u]))
        opening = np.array([float((k // (5 + i)) % 2) for i in range(8)])
        torque = 0.02 * np.array([np.sin(0.1 * k), np.cos(0.07 * k)])
        devices.write(t, Command(t, torque, opening, opening))
    devices.stop(ticks * bed.loop.period_s)
    devices.close()
    return np.array(joints), np.array(poses), np.array(states)


def same(a, b):
    return np.array_equal(a, b, equal_nan=True)


def test_the_same_seed_gives_the_same_run_to_the_bit():
    assert all(same(a, b) for a, b in zip(run(), run(), strict=True))


def test_another_seed_gives_other_measurements_of_the_same_motion():
    joints, poses, states = run()
    other_joints, other_poses, other_states = run("seed=2")
    assert not same(joints, other_joints)
    assert not same(poses, other_poses)
    assert same(states, other_states)


def test_switching_one_device_perfect_leaves_the_others_as_they_were():
    joints, poses, states = run()
    found = run("devices.vision.simulated.perfect=true")
    assert same(found[0], joints)
    assert same(found[2], states)
    found = run("devices.joint_sensors.simulated.perfect=true")
    assert same(found[1], poses)
    assert same(found[2], states)


def test_each_fault_of_the_actuators_and_the_table_shows_in_the_motion():
    _, _, states = run()
    for override in (
        "devices.thrusters.simulated.ideal=true",
        "devices.thrusters.simulated.tank_n_s=1e9",
        "simulation.table.ideal=true",
        "simulation.table.tilt_g=0.0",
        "simulation.table.drag_ratio=0.0",
    ):
        assert not same(run(override)[2], states), override


def test_reading_lets_the_plant_go_on_to_the_tick():
    plant, devices = build_lab(load("free-flyer"))
    for k in range(5):
        devices.read(k * 0.005)
        assert plant.t == k * 5 * 0.001


def test_a_testbed_without_devices_has_none():
    bed = load("free-flyer")
    bare = bed.model_copy(update={"devices": type(bed.devices)()})
    plant, devices = build_lab(bare)
    sample = devices.read(0.005)
    assert sample.joint_count == 0
    assert sample.pose_count == 0
    assert plant.thrust.size == 0


def test_a_device_that_gives_other_numbers_than_float64_is_refused():
    """Arrays are joined as they lie in memory: whole numbers would be read as next to nothing."""
    bed = load("free-flyer")
    _, devices = build_lab(bed)
    command = Command(0.0, np.zeros(2), np.ones(8), np.zeros(8))
    devices.thrusters.write = lambda t, setpoint: setpoint.astype(int)
    with pytest.raises(TypeError, match="int64 and float64, expected float64"):
        devices.write(0.0, command)
    frame = devices.vision.read(0.0)
    devices.vision.read = lambda t: frame._replace(values=frame.values.astype(np.float32))
    with pytest.raises(TypeError, match="float32, expected float64"):
        devices.read(0.0)
