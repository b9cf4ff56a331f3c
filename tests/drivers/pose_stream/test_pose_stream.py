"""Poses over UDP and ZeroMQ: the message, the sender's clock, and streams with every kind of trouble."""

from __future__ import annotations

import math
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
import zmq

import granite
from granite.config.errors import InputError
from granite.config.records import Frame, Status
from granite.drivers.pose_stream.device import PoseStream
from granite.drivers.pose_stream.message import SIZE, PoseMessage
from granite.drivers.pose_stream.sockets import Sender, open_sender
from granite.rt.devices import build_devices

PAGE = Path(__file__).parents[3] / "docs/pose-stream.md"
TICK_S = 0.005
#: the sender's clock is ahead of the loop's by this
OFFSET_S = 1234.5


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(params=["udp", "zeromq"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"udp://127.0.0.1:{free_port()}" if request.param == "udp" else f"ipc://{tmp_path}/poses"


class Stream:
    """A sender and the device that receives it; time is that of the test."""

    def __init__(self, address: str, **options: object) -> None:
        self.sender: Sender = open_sender(address)
        bed = granite.load("free-flyer")
        self.device = PoseStream(PoseStream.Options(kind="pose_stream", address=address, **options), "vision", bed)
        self.device.open()
        self.number = 0

    def send(self, exposed: float, sent: float, pose: tuple[float, float, float] = (1.0, 2.0, 0.5), **changes: object):
        """Times of the loop; they are sent as those of the sender's clock."""
        self.number += 1
        made = PoseMessage.planar("base", self.number, exposed + OFFSET_S, sent + OFFSET_S, pose)
        self.sender.send(made._replace(**changes).pack())

    def arrived(self, t: float, beyond: int) -> Frame:
        """Read at time t until there are more messages than that."""
        end = time.monotonic() + 30
        while self.seen <= beyond:
            frame = self.device.read(t)
            assert time.monotonic() < end, "no message arrived"
        return frame

    @property
    def seen(self) -> int:
        counts = self.device.counts
        return counts.received + counts.malformed + counts.other_body + counts.repeated

    def close(self) -> None:
        self.device.close()
        self.sender.close()


@pytest.fixture
def stream(address: str) -> Iterator[Stream]:
    made = Stream(address)
    end = time.monotonic() + 30
    made.device.read(-TICK_S)
    while made.seen == 0:  # a subscriber of ZeroMQ hears nothing until it is connected
        made.sender.send(b"who is there?")
        made.device.read(-TICK_S)
        assert time.monotonic() < end
        time.sleep(0.001)
    time.sleep(0.02)
    made.device.read(-TICK_S)
    made.device.counts.malformed = 0
    yield made
    made.close()


def test_a_message_gives_its_pose_with_the_loop_time_of_its_exposure(stream: Stream):
    stream.send(-0.031, -0.001)
    frame = stream.arrived(0.0, 0)
    assert (frame.number, frame.status) == (1, Status.OK)
    assert frame.values == pytest.approx([1.0, 2.0, 0.5])
    assert frame.t == pytest.approx(-0.030, abs=1e-9)  # sent at the latest when it was received
    assert stream.device.read(0.005) is frame


def test_a_pose_that_is_sent_again_under_a_new_number_is_no_new_one(stream: Stream):
    stream.send(-0.031, -0.001)
    first = stream.arrived(0.0, 0)
    stream.send(-0.031, 0.004)
    assert stream.arrived(0.005, 1) is first
    stream.send(-0.011, 0.009)
    assert stream.arrived(0.010, 2).number == 2
    assert (stream.device.counts.repeated, stream.device.counts.missed) == (1, 0)


def simulate_arrivals(stream: Stream, random: Random, seconds: float, transport_s: float, drift: float = 0.0) -> float:
    """Poses at 60 Hz, each read at the first tick after its arrival; the error of the newest frame's time [s]."""
    error = math.nan
    sendings = [k / 60.0 + random.uniform(0.02, 0.03) for k in range(round(60 * seconds))]
    pending = [(sent + transport_s, sent) for sent in sendings]
    for i in range(round(seconds / TICK_S)):
        t = i * TICK_S
        due = [sent for arrival, sent in pending if arrival <= t]
        pending = [each for each in pending if each[0] > t]
        for sent in due:
            stream.send((sent - 0.02) * (1 + drift), sent * (1 + drift))
        frame = stream.arrived(t, stream.seen + len(due) - 1) if due else stream.device.read(t)
        if due:
            error = frame.t - (due[-1] - 0.02)
    return error


def test_the_senders_clock_is_mapped_to_the_loops(stream: Stream):
    error = simulate_arrivals(stream, Random(1), 3.0, transport_s=0.0003)
    assert 0.0 < error < 0.001  # of the transport, and what is left of the tick
    assert stream.device.clock.uncertainty_s < 0.006
    assert stream.device.clock.offset_s == pytest.approx(-OFFSET_S, abs=0.006)
    assert stream.device.clock.jumps == 0


def test_a_drifting_clock_is_followed(stream: Stream):
    assert abs(simulate_arrivals(stream, Random(2), 6.0, transport_s=0.0003, drift=1e-4)) < 0.0015


def test_a_late_message_keeps_its_time_and_a_clock_that_jumped_starts_again(stream: Stream):
    simulate_arrivals(stream, Random(3), 2.0, transport_s=0.0)
    stream.device.read(2.3)
    stream.send(2.2, 2.2)
    frame = stream.arrived(2.305, stream.seen)
    assert frame.t == pytest.approx(2.2, abs=0.002)
    assert stream.device.counts.late == 1
    for k in range(6):  # from now on the sender's clock is 10 s behind
        t = 2.4 + k * TICK_S
        stream.device.read(t - TICK_S)
        stream.send(t - 10.001, t - 10.001)
        frame = stream.arrived(t, stream.seen)
    assert stream.device.clock.jumps == 1
    assert frame.t == pytest.approx(t, abs=0.002)


def test_a_pose_that_comes_while_a_tick_is_late_is_not_from_its_future(stream: Stream):
    simulate_arrivals(stream, Random(4), 1.0, transport_s=0.0)
    stream.device.read(1.2)
    stream.send(1.212, 1.212)
    assert stream.arrived(1.205, stream.seen).t == 1.205


def test_a_late_tick_that_says_so_does_not_shift_the_senders_clock(stream: Stream):
    """The tick of 1.205 s runs 4 ms late and reads a pose that was sent 3 ms after its time."""
    simulate_arrivals(stream, Random(4), 1.0, transport_s=0.0)
    stream.device.read(1.2)
    stream.device.note_delay(0.004)
    stream.send(1.188, 1.208)
    stream.arrived(1.205, stream.seen)
    stream.device.note_delay(0.0)
    stream.device.read(1.295)
    stream.send(1.27, 1.299)
    assert stream.arrived(1.3, stream.seen).t == pytest.approx(1.27, abs=0.001)


def test_a_heading_goes_on_over_a_half_turn(stream: Stream):
    for k, heading in enumerate((3.0, -3.1, -2.9, 3.1)):
        stream.send(k * TICK_S - 0.001, k * TICK_S - 0.001, (0.0, 0.0, heading))
        frame = stream.arrived(k * TICK_S, stream.seen)
    assert frame.values[2] == pytest.approx(3.1)
    stream.send(0.1, 0.1, (0.0, 0.0, -3.1))
    assert stream.arrived(0.105, stream.seen).values[2] == pytest.approx(math.tau - 3.1)


def turned(quaternion: tuple[float, ...]) -> PoseMessage:
    return PoseMessage.planar("base", 2, 1.0, 1.0, (0.0, 0.0, 0.0))._replace(quaternion=quaternion)


def test_trouble_is_counted_and_gives_no_frame(stream: Stream):
    counts = stream.device.counts
    stream.send(-0.001, -0.001)
    first = stream.arrived(0.0, 0)
    for message, field in (
        (b"short", "malformed"),
        (bytes(SIZE), "malformed"),
        (PoseMessage.planar("base", 2, 1e303, -1e303, (0.0, 0.0, 0.0)).pack(), "malformed"),
        (PoseMessage.planar("base", 2, 1.0, math.nan, (0.0, 0.0, 0.0)).pack(), "malformed"),
        *((turned(quaternion).pack(), "malformed") for quaternion in ((0.0,) * 4, (1e308,) * 4, (0.98, 0.0, 0.0, 0.0))),
        (PoseMessage.planar("arm", 9, 1.0, 1.0, (0.0, 0.0, 0.0)).pack(), "other_body"),
        (PoseMessage.planar("base", 1, 1.0, 1.0, (0.0, 0.0, 0.0)).pack(), "repeated"),
    ):
        before = getattr(counts, field)
        stream.sender.send(message)
        stream.arrived(0.005, stream.seen)
        assert getattr(counts, field) == before + 1
    stream.send(0.004, 0.004, is_tracked=False, number=5)
    stream.arrived(0.005, stream.seen)
    assert (counts.untracked, counts.missed) == (1, 3)
    assert stream.device.read(0.01) is first
    stream.send(0.004, 0.004, (math.nan, 0.0, 0.0), number=6)
    assert np.isnan(stream.arrived(0.01, stream.seen).values[0])  # the guard ends the run
    stream.send(0.0045, 0.0045, (0.0, 0.0, math.nan), number=7)
    assert np.isnan(stream.arrived(0.01, stream.seen).values[2])
    stream.send(0.005, 0.005, number=8, quaternion=(0.995, 0.0, 0.0, 0.0))
    assert stream.arrived(0.01, stream.seen).values[2] == 0.0


def test_poses_over_udp_come_from_the_first_sender_until_it_is_silent():
    stream = Stream(f"udp://127.0.0.1:{free_port()}")
    forger = open_sender(stream.device._address)
    stream.device.read(-TICK_S)
    stream.send(-0.001, -0.001)
    stream.arrived(0.0, 0)
    forged = PoseMessage.planar("base", 400, OFFSET_S, OFFSET_S, (9.0, 9.0, 0.0)).pack()
    for tick in range(1, 21):
        for _ in range(100):
            forger.send(forged)
        stream.send(tick * TICK_S - 0.001, tick * TICK_S - 0.001, number=1 + tick)
        assert stream.arrived(tick * TICK_S, stream.seen).values[0] == 1.0
    assert stream.device.counts.received == 21
    stream.device.read(2.0)
    forger.send(forged)
    assert stream.arrived(2.005, stream.seen).values[0] == 9.0  # nobody else is there
    forger.close()
    stream.close()


def test_a_flood_does_not_hold_a_tick():
    stream = Stream(f"udp://127.0.0.1:{free_port()}")
    stream.device.read(-TICK_S)
    for _ in range(150):
        stream.send(-0.001, -0.001)
    stream.device.read(0.0)
    assert 0 < stream.seen <= 64
    stream.close()


def test_a_publisher_over_zeromq_proves_its_key(tmp_path: Path):
    address, keys, others = f"ipc://{tmp_path}/poses", zmq.curve_keypair(), zmq.curve_keypair()
    sender = open_sender(address, keys)
    bed = granite.load("free-flyer")
    options = [
        PoseStream.Options(kind="pose_stream", address=address, public_key=key and key.decode())
        for key in (keys[0], others[0], None)
    ]
    right, wrong, none = devices = [PoseStream(one, "vision", bed) for one in options]
    for device in devices:
        device.open()
    end, tick = time.monotonic() + 30, 0
    while right.counts.received < 20 and time.monotonic() < end:
        tick += 1
        sender.send(PoseMessage.planar("base", tick, tick * TICK_S, tick * TICK_S, (1.0, 2.0, 0.5)).pack())
        for device in devices:
            device.read(tick * TICK_S)
        time.sleep(0.002)
    assert [device.counts.received >= 20 for device in devices] == [True, False, False]
    assert (wrong.counts.received, none.counts.received) == (0, 0)
    for one in (*devices, sender):
        one.close()


@pytest.mark.parametrize(
    ("address", "key"),
    [("udp://127.0.0.1:9870", "0" * 40), ("tcp://127.0.0.1:9870", "short"), ("ipc://x", "\u00e9" * 40)],
)
def test_a_key_that_can_not_be_used_is_refused(address: str, key: str):
    driver = {"kind": "pose_stream", "address": address, "public_key": key}
    with pytest.raises(InputError, match="public_key"):
        granite.load("free-flyer", {"devices.vision.driver": driver})


def test_a_sender_that_starts_again_is_followed(stream: Stream):
    stream.send(-0.001, -0.001, number=100_000)
    stream.arrived(0.0, 0)
    stream.device.read(0.995)
    stream.send(-99.001, -99.001, number=1)
    frame = stream.arrived(1.0, stream.seen)
    assert stream.device.counts.restarts == 1
    assert frame.t == pytest.approx(1.0, abs=1e-6)


def test_the_frame_of_the_stream_is_turned_and_moved_to_the_table(address: str):
    stream = Stream(address, origin_m=(10.0, 20.0), turn_rad=math.pi / 2)
    stream.device.read(0.0)
    stream.device._take(0.0, PoseMessage.planar("base", 1, 0.0, 0.0, (1.0, 2.0, 0.3)))
    assert stream.device.read(0.0).values == pytest.approx([8.0, 21.0, 0.3 + math.pi / 2])
    stream.close()


def test_a_camera_gets_the_deviations_of_the_message_or_those_of_its_data_sheet():
    bed = granite.load("free-flyer/camera")
    options = PoseStream.Options(kind="pose_stream", address="udp://127.0.0.1:9870", turn_rad=math.pi / 2)
    device = PoseStream(options, "vision", bed)
    message = PoseMessage.planar("base", 1, 0.0, 0.0, (1.0, 2.0, 0.3), (1e-5, 2e-5, 3e-5))
    received = PoseMessage.unpack(message.pack())
    assert received == message
    device._take(0.0, received)
    assert device._frame.values == pytest.approx([-2.0, 1.0, 0.3 + math.pi / 2, 2e-5, 1e-5, 3e-5])
    device._take(0.0, message._replace(deviation=None))
    assert device._frame.values[3:] == pytest.approx([5e-4, 5e-4, 1e-3])
    assert PoseMessage.unpack(message.pack()[:SIZE]) is None  # cut: version 2 has more


def refused(address: str, device: str = "vision") -> str:
    bed = granite.load("free-flyer", {f"devices.{device}.driver": {"kind": "pose_stream", "address": address}})
    others = [name for name in bed.devices if name != device]
    with pytest.raises(InputError) as raised:
        build_devices(bed, simulate=others)[0].open()
    return str(raised.value)


def test_an_address_that_can_not_be_used_is_refused_in_one_sentence():
    key = "devices.vision.driver.address"
    assert f'{key} = "udp://nowhere"' in refused("udp://nowhere")
    assert "expected udp://HOST:PORT, tcp://HOST:PORT or ipc://FILE" in refused("udp://nowhere")
    assert "expected udp://HOST:PORT" in refused("camera")
    assert "expected udp://HOST:PORT" in refused("udp://127.0.0.1:\u00b2")
    assert "no port 99999, expected 1 to 65535" in refused("udp://127.0.0.1:99999")
    assert "no port 0, expected 1 to 65535" in refused("udp://127.0.0.1:0")
    assert "expected an address of this computer" in refused("udp://192.0.2.1:9870")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        assert "Address already in use" in refused(f"udp://127.0.0.1:{taken.getsockname()[1]}")
    assert "a pose stream has no such signals" in refused("udp://127.0.0.1:9870", "joint_sensors")


def test_a_name_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match="more than 16 bytes"):
        PoseMessage.planar("a" * 17, 1, 0.0, 0.0, (0.0, 0.0, 0.0)).pack()


def test_the_sender_on_the_page_is_understood():
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert code
    sent: list[bytes] = []
    names: dict[str, object] = {"send": sent.append}
    exec(code.group(1), names)  # defines send_pose
    names["send_pose"]("base", 7, 1.0, 2.0, (1.0, 2.0, 0.5))  # type: ignore[operator]
    assert PoseMessage.unpack(sent[0]) == PoseMessage.planar("base", 7, 1.0, 2.0, (1.0, 2.0, 0.5))
