"""Rigid bodies over NatNet: the packets, the server's clock, loss of tracking, unicast and multicast, refusals."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import pytest
from natnet.data_frame import DataFrame
from natnet.packet_buffer import PacketBuffer
from natnet.version import Version

import granite
from granite.config.errors import InputError
from granite.config.records import Frame
from granite.drivers.natnet.device import NatNet
from granite.drivers.natnet.packets import frame_of
from granite.rt.devices import build_subset
from tests.support.natnet_server import TICKS_PER_S, StreamingServer, frame_packet
from tests.support.waiting import until
from tests.support.watched_sensor import WatchedSensor

TICK_S = 0.005
#: the server's clock is ahead of the loop's by this
OFFSET_S = 1234.5
HALF = math.sqrt(0.5)
BODIES = [(3, (1.0, 2.0, 3.0), (HALF, 0.0, HALF, 0.0), True), (8, (4.0, 5.0, 6.0), (1.0, 0.0, 0.0, 0.0), False)]
VERSIONS = [(3, 0), (3, 1), (4, 0), (4, 1), (4, 2)]


@pytest.mark.parametrize("version", VERSIONS)
def test_another_library_reads_the_same_frame(version: tuple[int, int]) -> None:
    packet = frame_packet(42, BODIES, 12.25, 12.5, version)
    ours, theirs = frame_of(packet, version), DataFrame.read_from_buffer(PacketBuffer(packet[4:]), Version(*version))
    assert ours is not None
    assert ours.number == theirs.prefix.frame_number == 42
    assert ours.exposed == theirs.suffix.stamp_camera_mid_exposure == 12.25 * TICKS_PER_S
    assert ours.sent == theirs.suffix.stamp_transmit == 12.5 * TICKS_PER_S
    for theirs_body in theirs.rigid_bodies:
        body = ours.bodies[theirs_body.id_num]
        assert body.position == theirs_body.pos
        assert body.quaternion == (theirs_body.rot[3], *theirs_body.rot[:3])
        assert body.is_tracked == theirs_body.tracking_valid
    assert list(ours.bodies) == [3, 8]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_packet_that_is_cut_or_damaged_never_raises(version: tuple[int, int]) -> None:
    packet = frame_packet(42, BODIES, 12.25, 12.5, version)
    assert all(frame_of(packet[:n], version) is None for n in range(len(packet)))
    for n in range(4, len(packet), 3):
        content = packet[4:n]
        frame_of(b"\x07\x00" + len(content).to_bytes(2, "little") + content, version)
    rng = np.random.default_rng(1)
    for _ in range(300):
        damaged = bytearray(packet)
        for at in rng.integers(4, len(packet), 3):
            damaged[at] = rng.integers(256)
        frame_of(bytes(damaged), version)


class WatchedBody(WatchedSensor):
    """A body that the device watches; time is that of the test."""

    def __init__(self, server: StreamingServer, **options: object) -> None:
        self.server = server
        bed = granite.load("free-flyer")
        given = {"server": "127.0.0.1", "command_port": server.port, "interface": "127.0.0.1", "body": 3, **options}
        self.device = NatNet(NatNet.Options(kind="natnet", **given), "vision", bed)
        self.device.open()
        server.streams = False
        time.sleep(0.05)
        self.number = 10_000
        self.device.read(-2 * TICK_S)  # takes in what waited
        self.device.read(-TICK_S)

    def frame(self, t: float, bodies: list, exposed: float, sent: float) -> Frame:
        """The device's frame at tick t, after the server has sent one; times are the loop's."""
        self.number += 1
        packet = frame_packet(self.number, bodies, exposed + OFFSET_S, sent + OFFSET_S, self.server.version)
        return self.after(t, lambda: self.server.send(packet))


@pytest.fixture(params=[False, True], ids=["unicast", "multicast"])
def server(request: pytest.FixtureRequest) -> Iterator[StreamingServer]:
    made = StreamingServer(is_multicast=request.param)
    yield made
    made.close()


@pytest.fixture
def unicast() -> Iterator[StreamingServer]:
    made = StreamingServer()
    yield made
    made.close()


def test_a_pose_has_the_time_of_its_exposure_and_axes_with_z_upwards(server: StreamingServer) -> None:
    watched = WatchedBody(server)
    turned = (3, (1.0, 0.3, -2.0), (math.cos(0.25), 0.0, math.sin(0.25), 0.0), True)  # by 0.5 rad about y, upwards
    for k in range(20):
        t = k * TICK_S
        frame = watched.frame(t, [turned], t - 0.008, t - 0.001)
    np.testing.assert_allclose(frame.values, [1.0, 2.0, 0.5], atol=1e-6)
    assert frame.t == pytest.approx(t - 0.007, abs=0.0011)  # the shortest transport remains unknown
    watched.device.close()


def test_a_stream_with_z_upwards_stays_as_it_is(unicast: StreamingServer) -> None:
    watched = WatchedBody(unicast, up="z", origin_m=(0.5, 0.0))
    turned = (3, (1.0, 2.0, 0.3), (math.cos(0.25), 0.0, 0.0, math.sin(0.25)), True)
    frame = watched.frame(0.0, [turned], -0.004, -0.001)
    np.testing.assert_allclose(frame.values, [1.5, 2.0, 0.5], atol=1e-6)
    watched.device.close()


def test_a_body_that_is_not_tracked_gives_no_new_frame(unicast: StreamingServer) -> None:
    watched = WatchedBody(unicast)
    body = unicast.bodies[0]
    first = watched.frame(0.0, [body], -0.004, -0.001)
    assert watched.frame(TICK_S, [(*body[:3], False)], 0.001, 0.004) == first
    assert watched.frame(2 * TICK_S, [], 0.006, 0.009) == first  # it is not in the frame at all
    counts = watched.device.counts
    assert (counts.untracked, counts.other_body) == (1, 1)
    assert watched.frame(3 * TICK_S, [body], 0.011, 0.014).number == first.number + 1
    watched.device.close()


def test_the_same_and_older_frames_and_noise_are_counted_and_not_used(unicast: StreamingServer) -> None:
    watched = WatchedBody(unicast)
    first = watched.frame(0.0, unicast.bodies, -0.004, -0.001)
    watched.number -= 1
    assert watched.frame(TICK_S, unicast.bodies, 0.001, 0.004) == first
    assert watched.device.counts.repeated == 1
    before, end = watched.device.counts.malformed, time.monotonic() + 30
    unicast.send(b"noise")
    while watched.device.counts.malformed == before:
        assert watched.device.read(2 * TICK_S) == first
        assert time.monotonic() < end
    watched.device.close()


def test_unicast_frames_are_asked_for_again_and_again(unicast: StreamingServer) -> None:
    watched = WatchedBody(unicast)
    for expected, times in ((2, ()), (4, (2.0, 2.5, 3.1))):  # at opening and the first tick, then once a second
        for t in times:
            watched.device.read(t)
        until(lambda expected=expected: unicast.kept_alive >= expected, 30.0)
    assert unicast.kept_alive == 4
    assert watched.device.identity == "rigid body 3 of 'Motive', NatNet 4.1"
    watched.device.close()


def refusal(**options: object) -> str:
    driver = {"kind": "natnet", "server": "127.0.0.1", "interface": "127.0.0.1", "body": 3, **options}
    devices, _ = build_subset(granite.load("free-flyer", {"devices.vision.driver": driver}), ["vision"], [])
    with pytest.raises(InputError) as refused:
        devices.open()
    return str(refused.value)


def test_what_can_not_be_used_is_refused_in_one_sentence(unicast: StreamingServer) -> None:
    port = unicast.port
    wrong = refusal(command_port=port, body=9)
    assert "devices.vision.driver.body = 9: no such rigid body in the stream, expected a streaming id: 3" in wrong
    assert "interface" in refusal(command_port=port, interface="203.0.113.1")
    assert "can't be reached" in refusal(server="no-such-host.invalid", command_port=port)
    unicast.streams = False
    assert "it answers, but no frame comes by unicast" in refusal(command_port=port)


def test_an_old_server_and_one_that_does_not_answer_are_refused() -> None:
    old = StreamingServer(version=(2, 10), name="Tracker")
    assert "'Tracker' there streams NatNet 2.10, expected version 3 or 4" in refusal(command_port=old.port)
    old.close()
    assert f"no NatNet server answers at port {old.port}" in refusal(command_port=old.port)
