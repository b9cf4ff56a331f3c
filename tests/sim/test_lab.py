import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.records import Command, Status
from granite.drivers.device_set import DeviceSet
from granite.sim.lab import Lab


def simulated(bed):
    """The lab of a testbed, and all its devices."""
    lab = Lab(bed)
    sensors, actuators = ({name: lab.device(name) for name in names} for names in (bed.sensors, bed.actuators))
    return lab, DeviceSet(bed, sensors, actuators), sensors | actuators


def run(*overrides, ticks=400):
    """Samples and true states of a run with a fixed programme of commands."""
    bed = load("free-flyer/clean", overrides=list(overrides))
    lab, devices, _ = simulated(bed)
    plant = lab.plant
    devices.open()
    joints, poses, states = [], [], []
    for k in range(ticks):
        t = k * bed.loop.period_s
        sensed, seen = devices.read(t).frames
        joints.append(sensed.values)
        poses.append([seen.t, seen.number, *seen.values])
        states.append(np.concatenate([plant.q, plant.u]))
        opening = np.array([float((k // (5 + i)) % 2) for i in range(8)])
        torque = 0.02 * np.array([np.sin(0.1 * k), np.cos(0.07 * k)])
        devices.write(t, Command(t, (torque, opening), opening))
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
    changed = run("devices.vision.simulated.perfect=true")
    assert same(changed[0], joints)
    assert same(changed[2], states)
    changed = run("devices.joint_sensors.simulated.perfect=true")
    assert same(changed[1], poses)
    assert same(changed[2], states)


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
    lab, devices, _ = simulated(load("free-flyer"))
    for k in range(5):
        devices.read(k * 0.005)
        assert lab.plant.t == k * 5 * 0.001


def test_a_testbed_without_devices_has_none():
    bare = load("free-flyer").model_copy(update={"devices": {}})
    lab, devices, _ = simulated(bare)
    sample = devices.read(0.005)
    assert (sample.frames, sample.applied) == ((), ())
    assert lab.truth(0.005).thrust.size == 0


def test_what_was_applied_comes_back_with_the_next_sample():
    _, devices, _ = simulated(load("free-flyer"))
    motors, thrusters = devices.read(0.0).applied
    assert (motors.number, motors.status) == (0, Status.NO_FRAME)
    applied = devices.write(0.0, Command(0.0, (np.array([9.0, 0.1]), np.ones(8)), np.ones(8)))
    motors, thrusters = devices.read(0.005).applied
    assert applied == (motors, thrusters)
    assert (motors.t, motors.number, motors.status) == (0.0, 1, Status.OK)
    np.testing.assert_array_equal(motors.values, [2.0, 0.1])
    np.testing.assert_array_equal(thrusters.values, np.ones(8))


def test_a_device_that_gives_other_numbers_than_float64_is_refused():
    """Arrays are joined as they lie in memory: whole numbers would be read as next to nothing."""

    class Whole:
        """A device whose values are of another type."""

        def __init__(self, device, kind):
            self._device, self._kind = device, kind
            self.open, self.close, self.stop = device.open, device.close, getattr(device, "stop", None)

        def read(self, t):
            frame = self._device.read(t)
            return frame._replace(values=frame.values.astype(self._kind))

        def write(self, t, setpoint):
            frame = self._device.write(t, setpoint)
            return frame._replace(values=frame.values.astype(self._kind))

    bed = load("free-flyer")
    _, _, made = simulated(bed)
    spoilt = DeviceSet(bed, made, {**made, "thrusters": Whole(made["thrusters"], int)})
    with pytest.raises(TypeError, match=r"'thrusters' gave int64 of shape \(8,\), expected float64"):
        spoilt.write(0.0, Command(0.0, (np.zeros(2), np.ones(8)), np.zeros(8)))
    spoilt = DeviceSet(bed, {**made, "vision": Whole(made["vision"], np.float32)}, made)
    with pytest.raises(TypeError, match="'vision' gave float32"):
        spoilt.read(0.0)


def test_devices_are_the_same_whatever_the_order_and_number_in_which_they_are_made():
    bed = load("free-flyer")
    for names in (list(bed.devices), list(reversed(bed.devices)), ["thrusters", "vision"]):
        lab = Lab(bed)
        made = {name: lab.device(name) for name in names}
        made["thrusters"].write(0.0, np.eye(8)[3])
        seen = [made["vision"].read(0.005 * k).values for k in range(200)]
        if names == list(bed.devices):
            first = seen, lab.plant.u
        np.testing.assert_array_equal(seen, first[0])
        np.testing.assert_array_equal(lab.plant.u, first[1])


DEVICES_OF_A_USER = """
from typing import ClassVar
import numpy as np
from granite.config.coordinates import Coordinate
from granite.config.devices.device import Device
from granite.config.records import Frame

class Thermometer(Device):
    role: ClassVar[str] = "sensor"
    warmth_k: float = 300.0
    def signals(self, bed):
        return (Coordinate("warmth", "K"),)

class SimulatedThermometer(Thermometer):
    def simulate(self, plant, rng):
        return Reader(self)

class Reader:
    def __init__(self, table):
        self.table, self.number = table, 0
    def open(self): pass
    def close(self): pass
    def read(self, t):
        self.number += 1
        return Frame(t, self.number, 0, np.array([self.table.warmth_k]))
"""


def test_a_users_device_brings_its_simulation_along(tmp_path):
    (tmp_path / "mine.py").write_text(DEVICES_OF_A_USER)
    table = f"devices.oven={{kind='{tmp_path}/mine.py:SimulatedThermometer', warmth_k=400.0}}"
    bed = load("free-flyer", [table])
    _, devices, _ = simulated(bed)
    frame = devices.read(0.0).frames[list(bed.sensors).index("oven")]
    assert (frame.number, frame.values.tolist()) == (1, [400.0])


def test_a_users_device_without_a_simulation_is_refused_by_name(tmp_path):
    (tmp_path / "mine.py").write_text(DEVICES_OF_A_USER)
    bed = load("free-flyer", [f"devices.oven={{kind='{tmp_path}/mine.py:Thermometer'}}"])
    with pytest.raises(InputError, match="no simulation") as refusal:
        Lab(bed).device("oven")
    assert refusal.value.key == "devices.oven.kind"
