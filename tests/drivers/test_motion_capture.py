"""Rigid bodies of Qualisys, VRPN and Vicon: pose and time, loss of tracking, damage, a server that ends, refusals."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterator

import numpy as np
import pytest
import qtm_rt

import granite
from granite.config.errors import InputError
from granite.config.records import Frame
from granite.drivers.pose_stream.device import PoseSensor
from granite.drivers.qualisys import frame_of, quaternion_of
from granite.drivers.vicon import quaternion_of as quaternion_of_angles
from granite.rt.devices import build_subset
from tests.support.mocap_servers import SERVERS, MocapServer, Poses, QtmServer, VrpnServer
from tests.support.watched_sensor import WatchedSensor

TICK_S = 0.005
#: the server's clock is ahead of the loop's by this
OFFSET_S = 1234.5
PROCESSING_S = 0.004


def device_of(server: MocapServer, **options: object) -> PoseSensor:
    driver = {"kind": server.kind, "server": "127.0.0.1", server.key: "base", "processing_s": PROCESSING_S}
    if server.kind == "vicon":
        del driver["server"]
    changes = {"devices.vision.driver": {**driver, **server.options, **options}}
    devices, _ = build_subset(granite.load("free-flyer", changes), ["vision"], [])
    devices.open()
    device = devices.all()["vision"]
    assert isinstance(device, PoseSensor)
    return device


class WatchedBody(WatchedSensor):
    """A body that the device watches; time is that of the test."""

    def __init__(self, server: MocapServer, **options: object) -> None:
        self.server = server
        self.device = device_of(server, **options)
        server.streams = False
        time.sleep(0.05)
        self.number = 200_000
        assert self.device._receiver is not None
        while self.device._receiver.receive() is not None:
            pass  # it waited since the stream began
        self.device.read(-TICK_S)

    def frame(self, t: float, poses: Poses, exposed: float) -> Frame:
        """The device's frame at tick t, after the server has sent one."""
        self.number += 1
        packet = self.server.frame(self.number, exposed + OFFSET_S, poses)
        return self.after(t, lambda: self.server.send(packet))


@pytest.fixture(params=SERVERS, ids=lambda server: server.kind)
def server(request: pytest.FixtureRequest) -> Iterator[MocapServer]:
    made = request.param()
    yield made
    made.close()


@pytest.fixture
def watched(server: MocapServer) -> Iterator[WatchedBody]:
    made = WatchedBody(server)
    yield made
    made.device.close()


def test_a_pose_is_in_metres_and_has_the_time_of_its_exposure(watched: WatchedBody) -> None:
    for k in range(20):
        t = k * TICK_S
        frame = watched.frame(t, {"other": (9.0, 9.0, 0.0), "base": (1.0, -2.0, 0.5)}, t - 0.005)
    np.testing.assert_allclose(frame.values, [1.0, -2.0, 0.5], atol=1e-6)
    assert frame.t == pytest.approx(t - PROCESSING_S, abs=0.0011)  # sent and received at the same time
    assert "'base'" in watched.device.identity


def test_a_late_frame_has_the_time_of_its_exposure(watched: WatchedBody) -> None:
    """It comes 50 ms later than those before."""
    base = {"other": None, "base": (1.0, 2.0, 0.5)}
    for k in range(20):
        t = k * TICK_S
        usual = watched.frame(t, base, t - 0.005)
    late = watched.frame(t + TICK_S + 0.05, base, t + TICK_S - 0.005)
    assert late.number == usual.number + 1
    assert late.t == pytest.approx(usual.t + TICK_S, abs=0.0015)


def test_a_body_that_is_not_seen_and_a_frame_again_give_no_new_frame(watched: WatchedBody) -> None:
    base = {"other": None, "base": (1.0, 2.0, 0.5)}
    first = watched.frame(0.0, base, -0.005)
    again = watched.server.frame(watched.number, -0.005 + OFFSET_S, base)
    assert watched.after(TICK_S, lambda: watched.server.send(again)) is first
    assert watched.device.counts.repeated == 1
    if watched.server.kind != "vrpn":  # which sends nothing of a body that it does not see
        assert watched.frame(TICK_S, {"other": (0.0, 0.0, 0.0), "base": None}, 0.0) is first
        assert watched.device.counts.untracked == 1
    assert watched.frame(2 * TICK_S, base, 0.005).number == first.number + 1


def test_a_thousand_damaged_packets_never_raise_and_the_stream_goes_on(watched: WatchedBody) -> None:
    rng, base = np.random.default_rng(3), {"other": (0.0, 1.0, 0.0), "base": (1.0, 2.0, 0.5)}
    watched.frame(0.0, base, -0.005)
    device, packet = watched.device, watched.server.frame(watched.number + 1, OFFSET_S, base)
    for _ in range(1000):
        damaged = bytearray(packet)
        for at in rng.integers(0, len(packet), 4):
            damaged[at] = rng.integers(256)
        device._message(bytes(damaged[: rng.integers(1, len(packet) + 1)]))
    frame = watched.frame(TICK_S, base, 0.0)
    assert frame.number == 2
    np.testing.assert_allclose(frame.values, base["base"], atol=1e-6)


def test_a_thousand_damaged_packets_on_the_port_never_raise(watched: WatchedBody) -> None:
    """Datagrams go on after them. Behind damage a TCP connection can't tell its messages apart: it is lost."""
    rng, base = np.random.default_rng(5), {"other": (0.0, 1.0, 0.0), "base": (1.0, 2.0, 0.5)}
    server, device, t = watched.server, watched.device, 20 * TICK_S
    for k in range(20):
        frame = watched.frame(k * TICK_S, base, k * TICK_S - 0.005)
    for _ in range(1000):
        packet = bytearray(server.frame(watched.number + 1, t + OFFSET_S, base))
        for at in rng.integers(0, len(packet), 4):
            packet[at] = rng.integers(256)
        with contextlib.suppress(OSError):  # the driver has closed the connection
            server.send(bytes(packet[: rng.integers(1, len(packet) + 1)]))
        frame = device.read(t := t + TICK_S)
        assert np.isfinite(frame.values).all()
        assert frame.t <= t
    if server.kind == "vrpn":
        assert [device.read(t + k * TICK_S) for k in range(1, 4)] == [frame] * 3
        return
    before, watched.number = device.read(t), 300_000
    for _ in range(20):
        t += TICK_S
        frame = watched.frame(t, base, t - 0.005)
    assert frame.number > before.number + 15
    np.testing.assert_allclose(frame.values, base["base"], atol=1e-6)
    assert t - frame.t < 0.01


def test_a_server_that_ends_gives_no_new_frame_and_never_raises(watched: WatchedBody) -> None:
    frame = watched.frame(0.0, {"other": None, "base": (1.0, 2.0, 0.5)}, -0.005)
    watched.server.unplug()
    time.sleep(0.02)
    assert [watched.device.read(k * TICK_S) for k in range(1, 4)] == [frame] * 3


def test_y_upwards_is_turned_to_z_upwards() -> None:
    server = VrpnServer()
    watched = WatchedBody(server, up="y")
    watched.after(-TICK_S, lambda: server.send(server.message(1, 4, b"short", OFFSET_S)))
    frame = watched.frame(0.0, {"other": None, "base": (1.0, 0.3, 0.0)}, -0.005)
    np.testing.assert_allclose(frame.values, [1.0, -0.03, 0.0], atol=1e-6)
    watched.device.close()
    server.close()


def test_the_makers_library_reads_the_same_frame_of_the_same_server() -> None:
    """Its client takes the emulated server for QTM, too."""
    server, packets = QtmServer(), []

    async def one_frame() -> str:
        connection = await qtm_rt.connect("127.0.0.1", port=server.port, version="1.25")
        settings = await connection.get_parameters(parameters=["6d"])
        arrived = asyncio.Event()
        await connection.stream_frames(components=["6d"], on_packet=lambda p: (packets.append(p), arrived.set()))
        await asyncio.wait_for(arrived.wait(), 30)
        connection.disconnect()
        return str(settings)

    assert "<Name>base</Name>" in asyncio.run(one_frame())
    theirs, ours = packets[0], frame_of(server.packet(3, packets[0].data))
    assert ours is not None
    assert (ours.number, ours.exposed) == (theirs.framenumber, theirs.timestamp * 1e-6)
    position, matrix = theirs.get_6d()[1][1]
    pose = ours.poses[1]
    assert pose is not None
    np.testing.assert_allclose(pose[0], np.array([position.x, position.y, position.z]) / 1e3)
    w, _, _, z = pose[1]
    assert 2 * math.atan2(z, w) == pytest.approx(math.atan2(matrix.matrix[1], matrix.matrix[0]))
    server.close()


def test_quaternions_are_those_of_the_rotation() -> None:
    from scipy.spatial.transform import Rotation

    for rotation in Rotation.random(30, random_state=1):
        for ours in (quaternion_of(rotation.as_matrix()), quaternion_of_angles(*rotation.as_euler("XYZ"))):
            w, x, y, z = ours
            assert abs(np.dot([x, y, z, w], rotation.as_quat())) == pytest.approx(1.0)
    assert quaternion_of(np.full((3, 3), -9.0)) != quaternion_of(np.eye(3))


def refusal(server: MocapServer, **options: object) -> str:
    with pytest.raises(InputError) as refused:
        device_of(server, **options)
    return str(refused.value)


def test_what_can_not_be_used_is_refused_in_one_sentence(server: MocapServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("qualisys._ANSWER_S", "vrpn._ANSWER_S", "vicon._FRAME_S"):
        monkeypatch.setattr(f"granite.drivers.{name}", 0.2)
    server.streams = server.kind == "vicon"
    wrong = refusal(server, **{server.key: "bases"})
    assert f'devices.vision.driver.{server.key} = "bases": no such' in wrong
    assert "did you mean 'base'?" in wrong
    if server.kind == "vicon":
        server.streams = False
        assert "no frame comes at port" in refusal(server)
        assert "interface" in refusal(server, interface="203.0.113.1")
        return
    if server.kind == "qualisys":
        server.is_mute = True
        assert "it answers, but no frame comes by udp" in refusal(server)
    server.is_strange = True
    assert "answers at port" in refusal(server)
    server.close()
    assert "it can't be reached at port" in refusal(server)


def test_an_older_server_gets_its_version_and_frames_may_come_by_tcp() -> None:
    server = QtmServer("1.21", "tcp")
    watched = WatchedBody(server)
    assert watched.frame(0.0, {"other": None, "base": (1.0, 2.0, 0.25)}, -0.005).values[2] == pytest.approx(0.25)
    assert watched.device.identity.endswith("protocol 1.20")
    assert server.heard[-1] == "StreamFrames AllFrames 6D"
    watched.device.close()
    server.close()
    server = QtmServer("1.19")
    assert "it refuses these versions of the protocol, expected 1.25 or 1.22 or 1.20" in refusal(server)
    server.close()
