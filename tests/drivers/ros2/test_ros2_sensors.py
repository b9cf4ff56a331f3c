"""Poses, joint states and wrenches by topics: values, time, damage, floods, a node that ends, refusals."""

import math
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.records import Frame, Status
from granite.drivers.ros2 import topic
from granite.rt.devices import build_subset
from tests.support.ros2_peer import (
    Header,
    JointState,
    Peer,
    Point,
    Pose,
    PoseStamped,
    Quaternion,
    Time,
    Vector3,
    Wrench,
    WrenchStamped,
)
from tests.support.watched_sensor import WatchedSensor

TICK_S = 0.005
#: the clock of the node is ahead of the loop's by this
OFFSET_S = 1234.5
NAMES = ["wheel", "j1", "elbow"]
DEVICES = {
    "pose": ("free-flyer", "vision", {"kind": "ros2_pose", "processing_s": 0.0}),
    "joints": ("free-flyer", "joint_sensors", {"kind": "ros2_joint_states", "names": {"shoulder": "j1"}}),
    "wrench": ("two-arm-carry", "force_gauges", {"kind": "ros2_wrench"}),
}


def header(stamp: float, frame: str = "world") -> Header:
    return Header(Time(int(stamp + OFFSET_S), round((stamp + OFFSET_S) % 1 * 1e9) % 1_000_000_000), frame)


def pose(stamp: float, x: float = 1.0, frame: str = "world") -> PoseStamped:
    return PoseStamped(
        header(stamp, frame), Pose(Point(x, 0.5, 0.1), Quaternion(0.0, 0.0, math.sin(0.2), math.cos(0.2)))
    )


def joints(stamp: float, angle: float = 0.3, names: list[str] = NAMES) -> JointState:
    return JointState(header(stamp), names, [9.0, -0.7, angle], [8.0, 0.1, 0.2], [])


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    """A node of somebody else, in a domain in which nobody else is."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(10 + os.getpid() % 80))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setattr(topic, "_FOUND_S", 20.0)
    node = topic.shared_node()  # it configures the domain of this process
    yield Peer(10 + os.getpid() % 80)
    del node


class WatchedTopic(WatchedSensor):
    """A device and the publisher of its topic; time is that of the test."""

    def __init__(self, peer: Peer, name: str, first: Any, is_reliable: bool = True, **changes: Any) -> None:
        bed, device, driver = DEVICES[name]
        changes[f"devices.{device}.driver"] = {**driver, "topic": "/lab/sensor"}
        devices, _ = build_subset(granite.load(bed, changes), [device], [])
        self.device = devices.all()[device]
        self.writer = peer.writer("rt/lab/sensor", type(first), is_awaited=False, is_reliable=is_reliable)
        with RepeatedMessage(self.writer, first):
            devices.open()
        self.device.read(-TICK_S)

    def publish(self, t: float, *messages: Any, n: int | None = None) -> Frame:
        """Its frame at tick t, after these messages."""
        return self.after(t, lambda: [self.writer.write(m) for m in messages], len(messages) if n is None else n)


class RepeatedMessage:
    """Publishes one message again and again, as a sensor does."""

    def __init__(self, writer: Any, message: Any) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send, args=(writer, message), daemon=True)

    def _send(self, writer: Any, message: Any) -> None:
        while not self._over.wait(0.01):
            writer.write(message)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        time.sleep(0.05)


@pytest.mark.parametrize("is_reliable", [True, False])
def test_a_pose_has_its_place_its_heading_and_the_time_of_its_stamp(peer, is_reliable):
    watched = WatchedTopic(peer, "pose", pose(-1.0), is_reliable)
    for k in range(20):
        t = k * TICK_S
        frame = watched.publish(t, pose(t - 0.003, 1.0 + t))
    assert frame.values == pytest.approx([1.0 + t, 0.5, 0.4])
    assert frame.status is Status.OK
    assert frame.t == pytest.approx(t, abs=0.0031)  # the offset is the latest that the ticks allow
    assert watched.device.counts.received == 20
    # In another frame, repeated, or no rotation: not used, and counted.
    again = watched.publish(t, pose(t - 0.003, 9.0), pose(t, 9.0, "camera"))
    twisted = pose(t + TICK_S, 9.0)
    twisted.pose.orientation = Quaternion(0.0, 0.0, 0.0, 3.0)
    assert watched.publish(t + TICK_S, twisted) == again == frame
    counts = watched.device.counts
    assert (counts.repeated, counts.other_body, counts.malformed) == (1, 1, 1)
    # No more comes: the last frame stays, whose age the guard sees.
    assert watched.device.read(t + 3.0) == frame
    watched.device.close()


def test_joints_are_found_by_name_and_a_message_without_one_is_not_used(peer):
    watched = WatchedTopic(peer, "joints", joints(-1.0))
    frame = watched.publish(0.0, joints(-0.001))
    assert frame.values.tolist() == [-0.7, 0.3, 0.1, 0.2]
    swapped = JointState(header(0.004), ["elbow", "j1"], [0.4, -0.6], [0.0, -0.1], [])
    frame = watched.publish(0.005, swapped)
    assert frame.values.tolist() == [-0.6, 0.4, -0.1, 0.0]
    bad = [
        joints(0.006, names=["a", "b", "c"]),
        JointState(header(0.007), NAMES, [1.0, 1.0, 1.0], [], []),
        JointState(header(0.008), ["j1"], [1.0], [1.0], []),
        JointState(header(0.009), [], [], [], []),
    ]
    assert watched.publish(0.01, *bad) == frame
    assert watched.device.counts.malformed == len(bad)
    assert watched.device.clock.jumps == 0
    # Late beyond transport_s: used with its own time, and counted.
    watched.device.read(0.06)
    late = watched.publish(0.065, joints(0.02))
    assert (late.number, watched.device.counts.late) == (frame.number + 1, 1)
    assert late.t == pytest.approx(0.025, abs=0.006)
    # Started again, with another clock.
    frame = watched.publish(0.07, joints(-1000.0, 0.9))
    assert (frame.values[1], watched.device.counts.restarts) == (0.9, 1)
    assert frame.t <= 0.07
    assert np.isnan(watched.publish(0.075, joints(-999.9, math.nan)).values[1])  # for the guard
    watched.device.close()


def test_damaged_bytes_are_counted_and_a_flood_does_not_hold_the_tick(peer):
    watched = WatchedTopic(peer, "joints", joints(-1.0))
    frame = watched.publish(0.0, joints(-0.001))
    huge = JointState(header(0.0), ["x" * 40] * 3000, [], [], [])
    assert watched.publish(0.005, huge) == frame
    assert watched.device.counts.malformed == 1
    content = watched.device._topic.content
    assert [content(bytes(n)) for n in (0, 3, 4, 12)] == [None] * 4
    for stamp in range(500):
        watched.writer.write(joints(1 + 1e-3 * stamp))
    time.sleep(0.2)
    before = watched.seen()
    watched.device.read(0.01)
    assert 0 < watched.seen() - before <= 64
    watched.device.close()


def test_a_wrench_has_the_components_of_the_gauge(peer):
    def wrench(stamp: float, fx: float) -> WrenchStamped:
        return WrenchStamped(header(stamp, "left"), Wrench(Vector3(fx, -2.0, 3.0), Vector3(0.1, 0.2, -0.3)))

    units = [{"contact": "left_grip", "axes": ["mz", "fx"]}, {"contact": "right_grip"}]
    with pytest.raises(InputError, match="a wrench has no such signals"):
        WatchedTopic(peer, "wrench", wrench(-1.0, 0.0), **{"devices.force_gauges.units": units})
    watched = WatchedTopic(peer, "wrench", wrench(-1.0, 0.0), **{"devices.force_gauges.units": units[:1]})
    frame = watched.publish(0.0, wrench(-0.001, 7.0))
    assert frame.values.tolist() == [-0.3, 7.0]
    assert frame.t == pytest.approx(0.0, abs=0.006)
    watched.device.close()


def test_nobody_no_message_two_publishers_and_a_device_of_another_kind_are_refused(peer, monkeypatch):
    monkeypatch.setattr(topic, "_FOUND_S", 0.3)
    monkeypatch.setattr(topic, "_FIRST_S", 0.3)

    def opened(kind: str = "ros2_pose", device: str = "vision", **more: Any) -> None:
        driver = {"kind": kind, "topic": "/lab/pose", **more}
        devices, _ = build_subset(granite.load("free-flyer", {f"devices.{device}.driver": driver}), [device], [])
        devices.open()

    timed = {"processing_s": 0.0}
    with pytest.raises(InputError, match=r'topic = "/lab/pose": nobody publishes it, expected a node that does'):
        opened(**timed)
    writer = peer.writer("rt/lab/pose", PoseStamped, is_awaited=False)
    monkeypatch.setattr(topic, "_FOUND_S", 20.0)
    with pytest.raises(InputError, match="no message comes"):
        opened(**timed)
    second = peer.writer("rt/lab/pose", PoseStamped, is_awaited=False)
    with RepeatedMessage(writer, pose(0.0)), pytest.raises(InputError, match="2 nodes publish it, expected one"):
        opened(**timed)
    del second
    with pytest.raises(InputError, match="joint states have no such signals"):
        opened("ros2_joint_states")
    with pytest.raises(InputError, match="a wrench has no such signals"):
        opened("ros2_wrench")
    with pytest.raises(InputError, match="topic"):
        opened(topic="no/slash", **timed)
    with pytest.raises(InputError, match="no such joint"):
        opened("ros2_joint_states", "joint_sensors", names={"knee": "x"})
