"""PX4 by topics: axes and times of its pose, openings and offboard control, arming, its loss, stops, refusals."""

import math
import os
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from cyclonedds.idl import IdlStruct
from cyclonedds.idl.types import array, float32, float64, int8, uint8, uint16, uint32, uint64

import granite
from granite.config.errors import InputError
from granite.config.records import Status
from granite.drivers.ros2 import px4_messages, topic
from granite.rt.devices import build_subset
from tests.support.ros2_peer import Peer

TICK_S = 0.005
#: the clock of PX4 is ahead of the loop's by this
OFFSET_S = 77.0


@dataclass
class VehicleOdometry(IdlStruct, typename="px4_msgs::msg::dds_::VehicleOdometry_"):
    timestamp: uint64
    timestamp_sample: uint64
    pose_frame: uint8
    position: array[float32, 3]
    q: array[float32, 4]
    velocity_frame: uint8
    velocity: array[float32, 3]
    angular_velocity: array[float32, 3]
    position_variance: array[float32, 3]
    orientation_variance: array[float32, 3]
    velocity_variance: array[float32, 3]
    reset_counter: uint8
    quality: int8


@dataclass
class ActuatorMotors(IdlStruct, typename="px4_msgs::msg::dds_::ActuatorMotors_"):
    timestamp: uint64
    timestamp_sample: uint64
    reversible_flags: uint16
    control: array[float32, 12]


@dataclass
class OffboardControlMode(IdlStruct, typename="px4_msgs::msg::dds_::OffboardControlMode_"):
    timestamp: uint64
    position: bool
    velocity: bool
    acceleration: bool
    attitude: bool
    body_rate: bool
    thrust_and_torque: bool
    direct_actuator: bool


@dataclass
class VehicleCommand(IdlStruct, typename="px4_msgs::msg::dds_::VehicleCommand_"):
    timestamp: uint64
    param1: float32
    param2: float32
    param3: float32
    param4: float32
    param5: float64
    param6: float64
    param7: float32
    command: uint32
    target_system: uint8
    target_component: uint8
    source_system: uint8
    source_component: uint16
    confirmation: uint8
    from_external: bool


@dataclass
class VehicleControlMode(IdlStruct, typename="px4_msgs::msg::dds_::VehicleControlMode_"):
    timestamp: uint64
    flag_armed: bool
    flag_multicopter_position_control_enabled: bool
    flag_control_manual_enabled: bool
    flag_control_auto_enabled: bool
    flag_control_offboard_enabled: bool
    flag_control_position_enabled: bool
    flag_control_velocity_enabled: bool
    flag_control_altitude_enabled: bool
    flag_control_climb_rate_enabled: bool
    flag_control_acceleration_enabled: bool
    flag_control_attitude_enabled: bool
    flag_control_rates_enabled: bool
    flag_control_allocation_enabled: bool
    flag_control_termination_enabled: bool
    source_id: uint8


def odometry(sample: float, x: float, y: float, yaw: float, sent: float | None = None) -> VehicleOdometry:
    """A pose in the axes of PX4; times of its clock."""
    times = [round(1e6 * (t + OFFSET_S)) for t in (sample if sent is None else sent, sample)]
    q = [math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2)]
    none = [math.nan] * 3
    return VehicleOdometry(*times, 1, [x, y, -0.1], q, 1, none, none, none, none, none, 0, 0)


class Autopilot:
    """Takes offboard mode after a second of it, leaves it half a second after the last, and says so twice a second."""

    def __init__(self, peer: Peer) -> None:
        self._mode = peer.writer(
            "rt/fmu/out/vehicle_control_mode", VehicleControlMode, is_awaited=False, is_reliable=False
        )
        self._motors = peer.reader("rt/fmu/in/actuator_motors", ActuatorMotors)
        self._offboard = peer.reader("rt/fmu/in/offboard_control_mode", OffboardControlMode)
        self._commands = peer.reader("rt/fmu/in/vehicle_command", VehicleCommand)
        self.is_armed = self.is_offboard = self.wants_offboard = False
        self.outputs: list[float] = []
        self._first = self._last = self._said = -math.inf
        self._over = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._over.wait(0.002):
            now, before = time.monotonic(), (self.is_armed, self.is_offboard)
            for message in self._offboard.take(64):
                asked = {name for name, value in vars(message).items() if value is True}
                if asked == {"direct_actuator"}:
                    self._first, self._last = (now if now - self._last > 0.5 else self._first), now
            lasts = now - self._last < 0.5
            self.is_offboard = lasts and (self.is_offboard or (self.wants_offboard and now - self._first > 1.0))
            for message in self._motors.take(64):
                self.outputs = list(message.control)
            for message in self._commands.take(64):
                if (message.command, message.param1, message.param2) == (400, 0.0, 21196.0):
                    self.is_armed = False
            if before != (self.is_armed, self.is_offboard) or now - self._said > 0.5:
                self.say(now)

    def say(self, now: float) -> None:
        self._said = now
        flags = [self.is_armed, False, False, False, self.is_offboard, *[False] * 8, True]
        self._mode.write(VehicleControlMode(round(now * 1e6), *flags, 1))

    def __enter__(self) -> "Autopilot":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    """A node of somebody else, in a domain in which nobody else is."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(100 + os.getpid() % 80))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setattr(topic, "_FOUND_S", 20.0)
    node = topic.shared_node()
    yield Peer(100 + os.getpid() % 80)
    del node


def device_of(name: str, kind: str, **more: Any) -> Any:
    changes = {f"devices.{name}.driver": {"kind": kind, **more}}
    devices, _ = build_subset(granite.load("atmos", changes), [name], [])
    return devices, devices.all()[name]


def until(happened: Callable[[], object], limit_s: float = 30.0) -> None:
    end = time.monotonic() + limit_s
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_pose_of_px4_is_turned_upright_and_has_the_time_of_its_sample(peer):
    devices, device = device_of("vision", "px4_odometry", origin_m=[2.0, 1.0])
    writer = peer.writer("rt/fmu/out/vehicle_odometry", VehicleOdometry, is_awaited=False, is_reliable=False)
    over = Event()
    feeder = Thread(target=lambda: [writer.write(odometry(-1.0, 0, 0, 0)) for _ in iter(lambda: over.wait(0.02), True)])
    feeder.start()
    devices.open()
    over.set()
    feeder.join()
    time.sleep(0.1)
    device.read(-TICK_S)
    for k in range(1, 21):
        t = k * TICK_S
        # Forward 0.3 m, right 0.2 m, turned to the right; estimated 8 ms before it was sent.
        writer.write(odometry(t - 0.009, 0.3, 0.2 + t, 0.4, sent=t - 0.001))
        until(lambda k=k, t=t: device.read(t) is None or device.counts.received >= k)
    frame = device.read(t)
    assert frame.values == pytest.approx([2.3, 0.8 - t, -0.4], abs=1e-6)
    assert frame.status is Status.OK
    assert frame.t == pytest.approx(t - 0.008, abs=0.003)
    # No estimate: not used, no fault.
    writer.write(odometry(t, math.nan, math.nan, math.nan))
    until(lambda: device.read(t) is None or device.counts.untracked == 1)
    assert device.read(t) == frame
    devices.close()


@pytest.mark.slow
def test_openings_reach_the_outputs_while_px4_is_armed_and_in_offboard_mode(peer):
    devices, device = device_of("thrusters", "px4_thrusters", outputs={"t1": 8, "t8": 1})
    setpoint, t = np.array([1.0, 0, 0, 0, 0, 0, 0.5, 0]), 0.0
    with Autopilot(peer) as px4:
        devices.open()
        until(lambda: device.observe(0.0).number and device.observe(0.0).status is Status.OK)
        # Its own operator: offboard mode is there because closed valves are sent, then arm.
        px4.wants_offboard = True
        until(lambda: px4.is_offboard)
        assert px4.outputs[:8] == [0.0] * 8
        assert all(map(math.isnan, px4.outputs[8:]))
        frame = device.write(t, setpoint)
        assert (frame.status, frame.number, frame.values.any()) == (Status.NO_FRAME, 0, False)
        px4.is_armed = True
        px4.say(time.monotonic())

        def flown(status: Status) -> bool:
            nonlocal t, frame
            t += TICK_S
            time.sleep(TICK_S)
            frame = device.write(t, setpoint)
            return frame.status is status

        until(lambda: flown(Status.OK))
        assert frame.values.tolist() == setpoint.tolist()
        assert frame.t == t
        until(lambda: px4.outputs[:8] == [0.0, 0, 0, 0, 0, 0, 0.5, 1.0])
        # Another mode by the remote control: refused, and nothing counts as applied.
        px4.wants_offboard = px4.is_offboard = False
        px4.say(time.monotonic())
        until(lambda: flown(Status.REFUSED))
        assert not frame.values.any()
        assert device.stop(t).status is Status.SILENT
        until(lambda: device.stop(t).status is Status.OK)
        assert not px4.is_armed
        assert px4.outputs[:8] == [0.0] * 8
    # It is gone.
    t += 2.0
    assert device.write(t, setpoint).status is Status.SILENT
    assert device.observe(t).status is Status.SILENT
    devices.close()


@pytest.mark.slow
def test_a_host_that_is_silent_loses_offboard_mode(peer):
    devices, device = device_of("thrusters", "px4_thrusters")
    with Autopilot(peer) as px4:
        devices.open()
        px4.wants_offboard = px4.is_armed = True
        until(lambda: px4.is_offboard)
        device.write(0.0, np.ones(8))
        until(lambda: px4.outputs[:8] == [1.0] * 8)
        px4.wants_offboard = False
        until(lambda: not px4.is_offboard)  # nothing sends beside the loop
        devices.close()


def test_newer_versions_have_the_two_flags_at_the_same_bytes():
    newest = struct.pack("<4sQ12?", b"\0\1\0\0", 7, True, *[False] * 3, True, *[False] * 7)
    assert px4_messages.control_mode(newest) == (True, True)
    assert px4_messages.control_mode(newest[:12]) is None


def test_other_devices_and_wrong_outputs_are_refused(peer):
    with pytest.raises(InputError, match="a pose stream has no such signals"):
        device_of("thrusters", "px4_odometry")
    with pytest.raises(InputError, match="only thrusters are on its outputs"):
        device_of("vision", "px4_thrusters")
    with pytest.raises(InputError, match="no such thruster"):
        device_of("thrusters", "px4_thrusters", outputs={"t9": 1})
    with pytest.raises(InputError, match="another one of the 12 for each thruster"):
        device_of("thrusters", "px4_thrusters", outputs={"t1": 2})
    with pytest.raises(InputError, match="expected a number of at most 12"):
        device_of("thrusters", "px4_thrusters", outputs={"t1": 13})
