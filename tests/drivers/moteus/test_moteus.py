"""moteus servos behind an emulated fdcanusb: torques, angles, arming, watchdog, faults, damage, stops, refusals."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Callable, Iterator

import moteus
import numpy as np
import pytest
from moteus.protocol import parse_reply

import granite
from granite.config.errors import InputError
from granite.config.records import Sample, Status
from granite.drivers.device_set import DeviceSet
from granite.drivers.moteus.can_ports import CanFrame, _SocketCan
from granite.drivers.moteus.frames import MoteusFeedback, feedback_of, query_frame, stop_frame, torque_frame
from granite.rt.devices import build_subset
from tests.support.emulated_moteus import EmulatedFdcanusb, EmulatedMoteus, registers_of
from tests.support.text_peer import TextPeer, text_peer

TICK_S = 0.005
NAMES = ["joint_sensors", "motors"]


@pytest.fixture
def servos() -> list[EmulatedMoteus]:
    return [EmulatedMoteus(1), EmulatedMoteus(2)]


@pytest.fixture
def peer(servos: list[EmulatedMoteus], monkeypatch: pytest.MonkeyPatch) -> Iterator[TextPeer]:
    monkeypatch.setattr("granite.drivers.moteus.bus._ANSWER_S", 0.5)  # a busy machine runs the emulated ones late
    with text_peer(EmulatedFdcanusb(*servos)) as made:
        yield made


def devices_of(peer: TextPeer, sensors: dict | None = None, **options: object) -> DeviceSet:
    driver = {"kind": "moteus", "port": peer.port, "ids": {"shoulder": 1, "elbow": 2}, **options}
    changes = {"devices.joint_sensors.driver": {**driver, **(sensors or {})}, "devices.motors.driver": driver}
    return build_subset(granite.load("free-flyer", changes), NAMES, [])[0]


class Arm:
    """Both devices of a bus; time is that of the test."""

    def __init__(self, peer: TextPeer, **options: object) -> None:
        self.devices = devices_of(peer, {"zero_rad": {"elbow": 0.5}}, **options)
        self.devices.open()
        self.t = 0.0

    def tick(self, shoulder: float = 0.0, elbow: float = 0.0) -> Sample:
        self.t += TICK_S
        sample = self.devices.read(self.t)
        self.devices.write(self.t, granite.Command(self.t, (np.array([shoulder, elbow]),), np.zeros(0)))
        time.sleep(0.004)
        return sample

    def until(self, happened: Callable[[Sample], bool], *torques: float) -> Sample:
        end = time.monotonic() + 20
        while not happened(sample := self.tick(*torques)):
            assert time.monotonic() < end, "it did not happen"
        return sample


def test_torques_are_applied_and_measured_and_the_stop_is_confirmed(peer: TextPeer, servos: list) -> None:
    arm = Arm(peer, reversed=["elbow"])
    sample = arm.until(lambda sample: bool(sample.applied[0].values.any()), 0.5, -0.25)
    np.testing.assert_allclose(sample.applied[0].values, [0.5, -0.25], atol=1e-6)
    assert sample.applied[0].status == Status.OK
    assert [servo.registers[0x22] for servo in servos] == [0.5, 0.25]
    assert servos[0].registers[0x27] == pytest.approx(0.05)  # its own watchdog
    quarter, rate = math.pi / 2, -math.pi
    np.testing.assert_allclose(sample.frames[0].values, [quarter, 0.5 - quarter, rate, -rate], atol=1e-6)
    assert arm.devices.stop(arm.t, paced=True) == {}
    assert [servo.registers[0] for servo in servos] == [0, 0]
    arm.devices.close()


def test_a_fault_a_watchdog_and_silence_are_statuses_and_end_with_torque_off(peer: TextPeer, servos: list) -> None:
    arm = Arm(peer)
    arm.until(lambda sample: sample.applied[0].status == Status.OK)
    servos[1].registers |= {0: 11}  # its watchdog stopped it: it stays stopped
    arm.until(lambda sample: sample.applied[0].status == Status.REFUSED, 0.5)
    servos[1].registers |= {0: 1, 15: 33}
    arm.until(lambda sample: sample.applied[0].status == Status.BROKEN, 0.5)
    servos[1].registers |= {15: 0}
    arm.until(lambda sample: sample.applied[0].status == Status.REFUSED)
    servos[1].is_silent = True
    arm.until(lambda sample: sample.applied[0].status == Status.SILENT)
    assert "motors" in arm.devices.stop(arm.t, paced=True)  # the other one confirms, this one can't
    assert servos[0].registers[0] == 0
    peer.unplug()
    arm.until(lambda sample: sample.frames[0].status == Status.SILENT)
    arm.devices.close()


def test_a_thousand_hostile_lines_never_become_a_state(peer: TextPeer, servos: list) -> None:
    arm = Arm(peer)
    arm.until(lambda sample: sample.applied[0].status == Status.OK)
    rng, sender = np.random.default_rng(2), peer.answer.sender
    honest = b"rcv %x %s E B F" % (0x100 | sender, servos[0].obey(query_frame()).hex().encode())
    for k in range(1000):
        line = bytearray(honest)
        for at in rng.integers(0, 20, 3):  # identifier and head of the answer
            line[at] = rng.integers(32, 127)
        if bytes(line) != honest and not (line[:7] == honest[:7] and feedback_of_line(line)):
            peer.send(bytes(line) + b"\n" + bytes(rng.integers(0, 256, 5, dtype=np.uint8)) + b"\n")
        if k % 10 == 0:
            arm.devices.read(arm.t)  # before the port is full
    number = arm.tick().frames[0].number
    sample = arm.until(lambda sample: sample.frames[0].number > number + 3)
    np.testing.assert_allclose(sample.frames[0].values[0], math.pi / 2, atol=1e-6)
    arm.devices.close()


def test_late_answers_are_counted_and_repeated_ones_are_one_frame(servos: list) -> None:
    adapter = EmulatedFdcanusb(*servos)
    with text_peer(adapter) as peer:
        arm = Arm(peer)
        arm.until(lambda sample: sample.applied[0].status == Status.OK)
        adapter.copies = 3
        before = arm.tick().frames[0].number
        for _ in range(20):
            sample = arm.tick()
        assert sample.frames[0].number <= before + 20  # one a tick at most
        adapter.copies, adapter.is_late = 1, True
        moving = servos[0]
        for k in range(40):  # each angle is that of the request, also where answers get lost
            heard, adapter.lost = moving.heard, 3 * (k == 20)
            sample = arm.tick()
            while moving.heard == heard:
                time.sleep(0.001)
            moving.registers[1] = arm.t
            if k > 5:
                assert sample.frames[0].values[0] / math.tau == pytest.approx(sample.frames[0].t - TICK_S, abs=1e-6)
                assert sample.frames[0].status == Status.OK
        assert sample.frames[0].t < arm.t - 1.5 * TICK_S
        (history,) = arm.devices.links().values()
        assert history["late"][-1] >= 30
        # A late answer of before the stop confirms nothing: the servos are off when the stop is confirmed.
        assert arm.devices.stop(arm.t, paced=True) == {}
        assert [servo.registers[0] for servo in servos] == [0, 0]
        arm.devices.close()


def feedback_of_line(line: bytearray) -> bool:
    """Whether a damaged line is still a whole answer, which no check sum would tell."""
    try:
        return feedback_of(bytes.fromhex(line.split()[2].decode())) is not None
    except (ValueError, IndexError):
        return False


def test_frames_are_those_of_the_makers_library() -> None:
    controller = moteus.Controller(id=1)
    theirs = controller.make_position(
        position=math.nan, velocity=0.0, feedforward_torque=0.5, kp_scale=0.0, kd_scale=0.0,
        maximum_torque=math.nan, stop_position=math.nan, watchdog_timeout=0.05,
    )  # fmt: skip
    ours, _ = registers_of(torque_frame(0.5, 0.05))
    expected, _ = registers_of(theirs.data)
    for register, value in expected.items():
        assert ours[register] == pytest.approx(value, nan_ok=True)
    query = moteus.Controller(id=1, source_can_id=0x61).make_query()
    is_answer = object.__new__(moteus.transport.Transport)._make_response_filter(query)
    answer = EmulatedMoteus(1).obey(query_frame())
    frames = [moteus.transport.Frame(n << 8 | sender, answer) for n in (1, 2) for sender in (0, 0x60, 0x61)]
    assert [frame.arbitration_id for frame in frames if is_answer(frame)] == [0x161]
    assert registers_of(stop_frame())[0] == registers_of(controller.make_stop().data)[0] == {0: 0}
    servo = EmulatedMoteus(1)
    answer = servo.obey(query_frame())
    parsed, feedback = parse_reply(answer), feedback_of(answer)
    assert feedback == MoteusFeedback(0, 0.25, -0.5, 0.0, 0)
    by_register = {register: parsed[register] for register in (0, 1, 2, 3, 15)}
    assert by_register == {0: 0, 1: 0.25, 2: -0.5, 3: 0.0, 15: 0}
    assert all(feedback_of(answer[:n]) is None for n in range(22))


def test_frames_of_socketcan_have_the_form_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's struct canfd_frame: there is no virtual interface here to try it on."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    port = object.__new__(_SocketCan)
    port._socket = here
    here.setblocking(False)
    assert port.send([CanFrame(0x8001, b"abc")])
    sent = there.recv(100)
    assert (len(sent), sent[:8], sent[8:11]) == (72, b"\x01\x80\x00\x80\x03\x01\x00\x00", b"abc")
    there.send(b"\x00\x01\x00\x00\x02\x01\x00\x00xy".ljust(72, b"\0"))
    there.send(b"short")
    frames = port.receive()
    assert frames[0] == CanFrame(0x100, b"xy")
    assert port.receive() == []
    port.close()
    there.close()


def refusal(devices: DeviceSet) -> str:
    with pytest.raises(InputError) as refused:
        devices.open()
    return str(refused.value)


def test_what_can_not_be_used_is_refused_in_one_sentence(
    peer: TextPeer, servos: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("granite.drivers.moteus.bus._ANSWER_S", 0.05)
    with pytest.raises(InputError, match="another id for each joint"):
        devices_of(peer, ids={"shoulder": 1, "elbow": 1})
    with pytest.raises(InputError, match="expected at least two ticks"):
        devices_of(peer, watchdog_s=0.006)
    with pytest.raises(InputError, match="the id of its servo"):
        devices_of(peer, ids={"shoulder": 1})
    assert "no servo answers with id 7" in refusal(devices_of(peer, ids={"shoulder": 1, "elbow": 7}))
    servos[1].registers[15] = 35
    assert "ids.elbow = 2: servo 2 has fault 35" in refusal(devices_of(peer))
    assert "port" in refusal(devices_of(peer, {"port": "can99"}, port="can99"))
