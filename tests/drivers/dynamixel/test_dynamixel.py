"""Dynamixel servos against an emulated bus: torques and angles, arming, watchdog, hardware errors, damage, refusals."""

from __future__ import annotations

import fcntl
import math
import sys
import termios
import time
from array import array
from collections.abc import Iterator

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.records import Command, Frame, Status
from granite.drivers.dynamixel.bus import Bus
from granite.drivers.dynamixel.control_table import errors_of
from granite.drivers.dynamixel.device import DynamixelDevice
from granite.drivers.dynamixel.status_packets import StatusDecoder
from granite.rt.devices import build_subset
from tests.support.emulated_bus import (
    FAST_SYNC_READ,
    SDK,
    SYNC_READ,
    SYNC_WRITE,
    EmulatedBus,
    EmulatedServo,
    emulated,
)

TICK_S = 0.005
#: N m/A
CONSTANT = 1.8
#: N m of one count of current
STEP = 2.69e-3 * CONSTANT


class Arm:
    """Motors and joint sensors of two joints on one emulated bus; time is that of the test."""

    def __init__(self, bus: EmulatedBus, **options: object) -> None:
        self.bus = bus
        bed = granite.load("free-flyer")
        given = {"kind": "dynamixel", "port": bus.port, "ids": {"shoulder": 1, "elbow": 2}, **options}
        sensing = DynamixelDevice.Options(**given, centre_rad={"elbow": 0.5})
        constants = {"shoulder": CONSTANT, "elbow": CONSTANT}
        moving = DynamixelDevice.Options(**given, torque_n_m_per_a=constants)
        self.link = Bus(sensing, bed.loop.period_s)
        self.sensors = DynamixelDevice(sensing, "joint_sensors", bed, self.link)
        self.motors = DynamixelDevice(moving, "motors", bed, self.link)
        self.t = 0.0
        for servo in bus.servos.values():
            servo.clock = lambda: self.t + 32.0013
        self.counts = self.link.counts
        self.arrived = self.before = 0

    def open(self) -> Arm:
        self.sensors.open()
        self.motors.open()
        while self.bus.obeyed < len(self.bus.instructions):
            time.sleep(0.0005)
        self.arrived, self.before = self.bus.emitted, self.bus.obeyed - self.counts.sent
        return self

    def wait(self) -> None:
        """Until the bus has obeyed all packets and its answers are at the port."""
        end = time.monotonic() + 30
        port = self.link._port
        waiting = array("i", [0])
        while True:
            done = self.bus.obeyed - self.before == self.counts.sent
            if port is None:
                return
            fcntl.ioctl(port._port.fileno(), termios.FIONREAD, waiting)
            if done and waiting[0] == self.bus.emitted - self.arrived:
                self.arrived = self.bus.emitted
                return
            assert time.monotonic() < end, "the bus does not answer"
            time.sleep(0.0005)

    def tick(self, shoulder: float = 0.0, elbow: float = 0.0) -> tuple[Frame, Frame]:
        """Frames of sensors and motors."""
        self.t += TICK_S
        self.link.receive(self.t)
        sensed = self.sensors.read(self.t)
        applied = self.motors.write(self.t, np.array([shoulder, elbow]))
        self.link.send(self.t)
        self.wait()
        return sensed, applied

    def close(self) -> None:
        self.link.close()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The emulated servos are a thread, which a busy machine runs late."""
    monkeypatch.setattr("granite.drivers.dynamixel.bus_port._PATIENCE_S", 0.3)


@pytest.fixture
def bus() -> Iterator[EmulatedBus]:
    with emulated(EmulatedServo(1), EmulatedServo(2)) as made:
        yield made


@pytest.fixture(params=[False, True], ids=["sync read", "fast sync read"])
def arm(bus: EmulatedBus, request: pytest.FixtureRequest) -> Iterator[Arm]:
    made = Arm(bus, fast_read=request.param).open()
    yield made
    made.close()


def test_torques_are_goal_currents_by_the_torque_constant_and_come_back_as_measured(arm: Arm, bus: EmulatedBus) -> None:
    for _ in range(3):
        arm.tick(0.5, -0.25)
    _, applied = arm.tick(0.5, -0.25)
    assert [bus.servos[i].get(102, 2) for i in (1, 2)] == [round(0.5 / STEP), round(-0.25 / STEP)]
    assert applied.status == Status.OK
    np.testing.assert_allclose(applied.values, [0.5, -0.25], atol=STEP / 2)
    assert applied.t == pytest.approx(arm.t - TICK_S)  # of the request, not of the arrival


def test_until_every_servo_confirms_torque_the_goal_currents_are_zero(arm: Arm, bus: EmulatedBus) -> None:
    first, second = arm.tick(0.5)[1], arm.tick(0.5)[1]
    assert first.status == Status.NO_FRAME
    goals = bus.heard(SYNC_WRITE, 102)
    assert goals[0] == bytes([2, 0, 1, 0, 0, 2, 0, 0])
    assert second.status == Status.OK
    assert goals[1] != goals[0]


def test_angles_and_rates_have_the_units_of_the_maker_and_the_centre_of_the_testbed(arm: Arm, bus: EmulatedBus) -> None:
    bus.servos[1].put(132, 3072, 4)
    bus.servos[1].put(128, -100, 4)
    bus.servos[2].put(132, 1024, 4)
    arm.tick()
    sensed, _ = arm.tick()
    rate = -100 * 0.229 * math.tau / 60  # 0.229 rev/min
    np.testing.assert_allclose(sensed.values, [math.pi / 2, 0.5 - math.pi / 2, rate, 0.0])
    assert sensed.status == Status.OK


def test_a_reversed_joint_has_the_other_sign_in_sensors_and_motors(bus: EmulatedBus) -> None:
    arm = Arm(bus, reversed=("shoulder",)).open()
    bus.servos[1].put(132, 3072, 4)
    for _ in range(3):
        arm.tick(0.5)
    sensed, applied = arm.tick(0.5)
    assert sensed.values[0] == pytest.approx(-math.pi / 2)
    assert applied.values[0] == pytest.approx(0.5, abs=STEP)
    assert bus.servos[1].get(102, 2) < 0
    arm.close()


def test_answers_with_stuffed_bytes_are_understood(arm: Arm, bus: EmulatedBus) -> None:
    bus.servos[1].put(128, -1, 4)  # FF FF FF FF and then FD: the SDK stuffs another FD
    bus.servos[1].put(132, 0x00FD, 4)
    arm.tick()
    sensed, _ = arm.tick()
    assert sensed.values[0] == pytest.approx((0xFD - 2048) * math.tau / 4096)


def test_one_request_a_tick_asks_all_servos_of_the_bus(arm: Arm, bus: EmulatedBus) -> None:
    reading = FAST_SYNC_READ if arm.link._options.fast_read else SYNC_READ
    before = len(bus.heard(reading, 224))
    for _ in range(5):
        arm.tick()
    assert bus.heard(reading, 224)[before:] == [bytes([15, 0, 1, 2])] * 5


def test_opening_turns_torque_off_and_sets_the_bus_watchdog(bus: EmulatedBus) -> None:
    for servo in bus.servos.values():
        servo.put(64, 1, 1)
        servo.put(98, 255, 1)  # stopped by its watchdog in an earlier run
    arm = Arm(bus, watchdog_s=0.06).open()
    assert [(servo.registers[64], servo.registers[98]) for servo in bus.servos.values()] == [(0, 3), (0, 3)]
    arm.close()


def test_the_bus_watchdog_of_a_servo_ends_in_refused_and_nothing_clears_it(arm: Arm, bus: EmulatedBus) -> None:
    for _ in range(3):
        arm.tick(0.5)
    bus.advance(0.05)
    assert bus.servos[1].get(102, 2) == 0  # stopped without the host
    for _ in range(3):
        _, applied = arm.tick(0.5)
    assert applied.status == Status.REFUSED
    assert bus.servos[1].get(102, 2) == 0
    assert applied.values.tolist() == [0.0, 0.0]


def test_stop_turns_torque_off_and_is_confirmed_by_the_servos(arm: Arm, bus: EmulatedBus) -> None:
    for _ in range(3):
        arm.tick(0.5)
    arm.t += TICK_S
    assert arm.motors.stop(arm.t).status == Status.SILENT
    arm.wait()
    assert not any(servo.registers[64] for servo in bus.servos.values())
    arm.t += TICK_S
    confirmed = arm.motors.stop(arm.t)
    arm.wait()
    assert confirmed.status == Status.OK
    assert not confirmed.values.any()
    arm.tick(0.5)  # a late write of the loop
    assert not any(servo.registers[64] for servo in bus.servos.values())


def test_a_stop_while_torque_is_turned_on_is_final(arm: Arm, bus: EmulatedBus) -> None:
    bus.servos[2].is_silent = True  # it obeys, and never confirms
    arm.tick(0.5)
    assert all(servo.registers[64] for servo in bus.servos.values())
    arm.motors.stop(arm.t)
    arm.tick(0.5)  # late writes of the loop
    arm.tick(0.5)
    assert not any(servo.registers[64] for servo in bus.servos.values())


def test_closing_turns_torque_off(bus: EmulatedBus) -> None:
    arm = Arm(bus).open()
    for _ in range(3):
        arm.tick(0.5)
    assert all(servo.registers[64] for servo in bus.servos.values())
    arm.close()
    assert not any(servo.registers[64] for servo in bus.servos.values())


@pytest.mark.slow  # answers that are late on a loaded machine count as lost, too
def test_closing_turns_torque_off_again_where_packets_are_lost(bus: EmulatedBus) -> None:
    arm = Arm(bus).open()
    for _ in range(3):
        arm.tick(0.5)
    bus.servos[2].lost = 2
    arm.close()
    assert not any(servo.registers[64] for servo in bus.servos.values())


def test_sensors_alone_ask_and_send_nothing_else(bus: EmulatedBus) -> None:
    devices, _ = build_subset(driven(bus.port), ["joint_sensors"], [])
    devices.open()
    asked, end = len(bus.instructions), time.monotonic() + 30
    k = 0
    while (frame := devices.read(TICK_S * k).frames[0]).number < 3:
        k += 1
        assert time.monotonic() < end
        time.sleep(0.002)
    assert frame.status == Status.OK
    assert {kind for kind, _ in bus.instructions[asked:]} == {SYNC_READ}
    devices.close()


def test_a_hardware_error_makes_the_device_broken_and_is_in_the_log(arm: Arm, bus: EmulatedBus) -> None:
    for _ in range(3):
        arm.tick(0.5)
    bus.servos[2].fail(0b100000)
    arm.tick(0.5)
    sensed, applied = arm.tick(0.5)
    assert sensed.status == applied.status == Status.BROKEN
    assert applied.values[1] == 0
    assert arm.link.history.summary()["hardware_errors"][-1] == 0b100000
    assert errors_of(0b100100) == "overheating, overload"


def test_a_silent_servo_gives_no_new_frame_and_then_silent(arm: Arm, bus: EmulatedBus) -> None:
    for _ in range(3):
        arm.tick()
    number = arm.tick()[0].number
    bus.servos[2].is_silent = True
    arm.tick()
    sensed, applied = arm.tick()
    assert (sensed.number, sensed.status) == (number + 1, Status.OK)
    for _ in range(10):
        sensed, applied = arm.tick()
    assert sensed.status == applied.status == Status.SILENT
    assert sensed.number == number + 1
    assert arm.counts.missed >= 10
    bus.servos[2].is_silent = False
    arm.tick()
    assert arm.tick()[0].status == Status.OK


def test_damaged_answers_are_counted_and_not_used(arm: Arm, bus: EmulatedBus) -> None:
    for _ in range(3):
        sensed, _ = arm.tick()
    number = sensed.number
    bus.damage, bus.before = 1, b"\xff\xfd\x00noise\xff\xff\xfd"
    arm.tick()
    assert arm.tick()[0].number == number + 1  # that of the tick before the damage
    after = arm.tick()[0]
    assert after.number == number + 2
    numbers = arm.link.history.summary()
    assert numbers["corrupt"][-1] == 1
    assert numbers["ignored_bytes"][-1] > 0


def test_an_old_answer_that_comes_again_is_no_frame_of_its_own(arm: Arm, bus: EmulatedBus) -> None:
    """The angles of the newest answer count; the old one, with other angles, came before it in the same tick."""
    for _ in range(3):
        arm.tick()
    bus.before = bus.last
    bus.servos[2].put(132, 3072, 4)
    number = arm.tick()[0].number
    for _ in range(3):
        sensed, applied = arm.tick()
    assert sensed.number <= number + 3
    assert sensed.values[1] == pytest.approx(np.pi / 2 + 0.5, abs=2e-3)
    assert (sensed.status, applied.status) == (Status.OK, Status.OK)
    assert arm.motors.stop(arm.t + TICK_S).status != Status.OK  # an answer from before the stop confirms nothing


def test_late_answers_have_the_time_of_their_request_also_after_lost_ones(arm: Arm, bus: EmulatedBus) -> None:
    bus.late, k = (2, 1)[arm.link._options.fast_read], 0
    for k in range(1, 500):
        for servo in bus.servos.values():
            servo.put(132, 2048 + k, 4)
        bus.damage = int(k % 40 == 20)
        if k == 300:
            bus.late *= 3
        sensed, applied = arm.tick()
        if sensed.number:
            assert sensed.values[0] == pytest.approx(round(sensed.t / TICK_S) * math.tau / 4096, abs=1e-9)
        if k > 10:
            assert (sensed.status, applied.status) == (Status.OK, Status.OK)
    assert arm.t - sensed.t == pytest.approx(4 * TICK_S)
    assert arm.counts.late > 900
    bus.late *= 5  # 15 ticks, which is beyond the watchdog time: no answer for so long, and then old ones
    for _ in range(30):
        sensed, applied = arm.tick()
    assert sensed.status == applied.status == Status.SILENT
    assert arm.t - sensed.t == pytest.approx(16 * TICK_S)
    assert arm.motors.stop(arm.t + TICK_S).status == Status.SILENT


def test_a_servo_that_answers_after_a_silence_at_the_start_answers_the_newest_request(bus: EmulatedBus) -> None:
    arm = Arm(bus).open()
    for servo in bus.servos.values():
        servo.is_silent = True
    for _ in range(50):
        arm.tick()
    for servo in bus.servos.values():
        servo.is_silent = False
    for _ in range(3):
        sensed, _ = arm.tick()
    assert sensed.t == pytest.approx(arm.t - TICK_S)
    arm.close()


def test_a_port_that_goes_away_is_silent(arm: Arm, bus: EmulatedBus) -> None:
    for _ in range(3):
        arm.tick()
    bus.close()
    arm.tick()  # takes in the last answers
    sensed, applied = arm.tick()
    assert sensed.status == applied.status == Status.SILENT
    assert arm.counts.lost == 1
    assert arm.motors.stop(arm.t + TICK_S).status == Status.SILENT


def test_a_bus_that_takes_no_bytes_does_not_block_the_loop(arm: Arm, bus: EmulatedBus) -> None:
    for _ in range(3):
        arm.tick()
    bus.hang()
    for k in range(2000):
        arm.link.receive(1.0 + k * TICK_S)
        applied = arm.motors.write(1.0 + k * TICK_S, np.zeros(2))
        arm.link.send(1.0 + k * TICK_S)
    assert arm.counts.blocked > 0
    assert applied.status == Status.SILENT


def test_observing_reports_without_torque(arm: Arm, bus: EmulatedBus) -> None:
    for k in range(3):
        arm.link.receive(TICK_S * k)
        frame = arm.motors.observe(TICK_S * k)
        arm.link.ask(TICK_S * k)
        arm.wait()
    assert frame.status == Status.OK
    assert not frame.values.any()
    assert not any(servo.registers[64] for servo in bus.servos.values())
    assert arm.motors.identity == "shoulder: XM430-W350 firmware 46, elbow: XM430-W350 firmware 46"


def test_any_pieces_of_a_stream_give_the_same_packets() -> None:
    packet = [0xFF, 0xFF, 0xFD, 0, 7, 8, 0, 0x55, 0x80, 0xFF, 0xFF, 0xFD, 3, 0, 0]
    stuffed = SDK.addStuffing(packet)
    crc = SDK.updateCRC(0, stuffed, len(stuffed) - 2)
    stuffed[-2:] = crc & 255, crc >> 8
    stream = (b"\xff\xff" + bytes(stuffed)) * 4
    for size in range(1, len(stream)):
        decoder = StatusDecoder(SDK)
        packets = [p for i in range(0, len(stream), size) for p in decoder.feed(stream[i : i + size])]
        assert [(p.id, p.alert, p.error, p.parameters) for p in packets] == [(7, True, 0, b"\xff\xff\xfd\x03")] * 4
        assert decoder.corrupt == 0


def together(*servos: tuple[int, bytes]) -> bytes:
    """The answer of servos to a fast sync read."""
    length = 1 + sum(4 + len(values) for _, values in servos)
    packet = bytearray([0xFF, 0xFF, 0xFD, 0, 0xFE, length & 255, length >> 8, 0x55])
    for id, values in servos:
        packet += bytes([0, id]) + values
        packet += SDK.updateCRC(0, packet, len(packet)).to_bytes(2, "little")
    return bytes(packet)


#: with what looks like a header, which is not stuffed
SERVOS = (1, b"\xff\xff\xfd\x00"), (2, b"\x01\x02\x03\x04"), (9, b"\xfd\xff\xff\xfd")


def test_the_sdk_reads_the_answer_to_a_fast_sync_read_as_the_decoder_does() -> None:
    class Port:
        is_using, rest = False, together(*SERVOS)

        def readPort(self, length: int) -> bytes:
            taken, self.rest = self.rest[:length], self.rest[length:]
            return taken

        def isPacketTimeout(self) -> bool:
            return not self.rest

    raw, result, _ = SDK.fastSyncReadRx(Port(), 0xFE, 8 * len(SERVOS))
    assert result == 0
    blocks = [bytes(raw[8 * i : 8 * i + 8]) for i in range(len(SERVOS))]
    packets = StatusDecoder(SDK, 4, len(SERVOS)).feed(together(*SERVOS))
    assert [(p.id, p.parameters) for p in packets] == [(block[1], block[2:6]) for block in blocks] == list(SERVOS)


def test_any_pieces_of_joint_answers_give_the_same_packets() -> None:
    stream = (b"\xff\xff" + together(*SERVOS)) * 4
    for size in range(1, len(stream)):
        decoder = StatusDecoder(SDK, 4, len(SERVOS))
        packets = [p for i in range(0, len(stream), size) for p in decoder.feed(stream[i : i + size])]
        assert [(p.id, p.parameters) for p in packets] == list(SERVOS) * 4
        assert decoder.corrupt == 0


def test_every_flipped_bit_of_a_joint_answer_is_noticed() -> None:
    packet = together((1, b"\x05\x06"), (2, b"\x07\x08"))
    for bit in range(8 * len(packet)):
        damaged = bytearray(packet)
        damaged[bit // 8] ^= 1 << bit % 8
        decoder = StatusDecoder(SDK, 2, 2)
        first = decoder.feed(bytes(damaged))
        decoder.begin_request()
        later = [p for _ in range(3) for p in decoder.feed(packet)]
        assert all((p.id, p.parameters) in [(1, b"\x05\x06"), (2, b"\x07\x08")] for p in [*first, *later])
        assert len(first) < 2
        assert len(later) >= 2


def test_a_thousand_joint_answers_with_random_damage_give_true_values_or_none() -> None:
    rng = np.random.default_rng(8)
    decoder = StatusDecoder(SDK, 4, len(SERVOS))
    for _ in range(1000):
        packet = bytearray(together(*SERVOS))
        kind = rng.integers(4)
        if kind == 0:
            packet = packet[: rng.integers(len(packet))]
        elif kind == 1:
            packet[rng.integers(len(packet))] = rng.integers(256)
        elif kind == 2:
            packet = bytearray(rng.integers(0, 256, rng.integers(60), dtype=np.uint8).tobytes()) + packet
        decoder.begin_request()
        assert all((p.id, p.parameters) in SERVOS for p in decoder.feed(bytes(packet)))
    decoder.begin_request()
    decoder.feed(bytes(200))
    assert len(decoder.feed(together(*SERVOS))) == len(SERVOS)


def test_servos_behind_a_silent_one_wait_for_it_and_answer_again() -> None:
    with emulated(EmulatedServo(1), EmulatedServo(2)) as bus:
        arm = Arm(bus, fast_read=True).open()
        for _ in range(3):
            arm.tick()
        bus.servos[1].is_silent = True
        for _ in range(12):
            sensed, applied = arm.tick()
        assert sensed.status == applied.status == Status.SILENT
        bus.servos[1].is_silent = False
        arm.tick()
        assert arm.tick()[0].status == Status.OK
        arm.close()


def test_servos_without_fast_read_are_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("granite.drivers.dynamixel.bus_port._PATIENCE_S", 0.02)
    with emulated(EmulatedServo(1), EmulatedServo(2)) as bus:
        bus.has_fast_read = False
        with pytest.raises(InputError, match=r"1, 2 do not answer a fast sync read together.*newer firmware"):
            Arm(bus, fast_read=True).open()
        assert not any(servo.registers[64] for servo in bus.servos.values())


def test_every_flipped_bit_of_an_answer_is_noticed() -> None:
    packet = [0xFF, 0xFF, 0xFD, 0, 7, 6, 0, 0x55, 0, 1, 2, 0, 0]
    crc = SDK.updateCRC(0, packet, len(packet) - 2)
    packet[-2:] = crc & 255, crc >> 8
    for bit in range(8 * len(packet)):
        damaged = bytearray(packet)
        damaged[bit // 8] ^= 1 << bit % 8
        decoder = StatusDecoder(SDK)
        packets = decoder.feed(bytes(damaged) + bytes(packet) * 12)  # a greater length waits for more bytes
        assert all(p.parameters == b"\x01\x02" and p.id == 7 for p in packets)
        assert 10 <= len(packets) <= 12


@pytest.mark.parametrize(
    ("servos", "options", "words"),
    [
        ([EmulatedServo(1)], {}, ["ids.elbow = 2", "no servo answers with id 2", "1000000 baud"]),
        ([EmulatedServo(1), EmulatedServo(2, model=1060)], {}, ["servo 2 is model number 1060", "current mode"]),
        ([EmulatedServo(1), EmulatedServo(2, model=1030)], {"model": "XM430-W350"}, ["an XM430-W210", "XM430-W350"]),
        ([EmulatedServo(1, mode=3), EmulatedServo(2)], {}, ["servo 1 is in position mode (3)", "current mode (0)"]),
        ([EmulatedServo(1), EmulatedServo(2)], {"baud": 57600}, ["baud = 57600", "too slow", "at least 1000000"]),
        ([EmulatedServo(1, return_delay=250), EmulatedServo(2)], {"baud": 115200}, ["too slow", "0.5 ms"]),
    ],
)
def test_a_servo_that_does_not_fit_is_refused_in_one_sentence(
    servos: list[EmulatedServo], options: dict[str, object], words: list[str]
) -> None:
    with emulated(*servos) as bus, pytest.raises(InputError) as refusal:
        Arm(bus, **options).open()
    for word in words:
        assert word in str(refusal.value)
    assert not any(servo.registers[98] for servo in servos)  # nothing was changed


def test_a_hardware_error_at_opening_is_refused_by_name() -> None:
    servo = EmulatedServo(1)
    servo.fail(0b100)
    sentence = r"servo 1 has a hardware error: overheating, expected"
    with emulated(servo, EmulatedServo(2)) as bus, pytest.raises(InputError, match=sentence):
        Arm(bus).open()


def test_set_points_beyond_the_current_limit_of_a_servo_are_refused() -> None:
    weak = EmulatedServo(1)
    weak.put(38, 100, 2)
    with emulated(weak, EmulatedServo(2)) as bus:
        arm = Arm(bus)
        arm.sensors.open()
        with pytest.raises(InputError, match=r"up to 2 N m take 1.11 A, expected at most .* of 0.269 A"):
            arm.motors.open()
        arm.close()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"ids": {"shoulder": 1}}, "ids.elbow is missing, expected the id of its servo"),
        ({"ids": {"shoulder": 1, "elbow": 1}}, "servo 1 is that of joint 'shoulder'"),
        ({"ids": {"shoulder": 1, "elbow": 2, "wrist": 3}}, "no such joint here, expected one of shoulder, elbow"),
        ({"model": "XM430-W351"}, "did you mean 'XM430-W350'"),
        ({"watchdog_s": 0.05}, "expected a multiple of 0.02 from 0.02 (two ticks) to 2.54"),
        ({"reversed": ("wrist",)}, "no such joint here"),
    ],
)
def test_a_wrong_table_is_refused_in_one_sentence(bus: EmulatedBus, options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        Arm(bus, **options)
    assert sentence in str(refusal.value)


def test_motors_and_sensors_that_disagree_on_a_sign_are_refused(bus: EmulatedBus) -> None:
    bed = granite.load("free-flyer")
    given = {"kind": "dynamixel", "port": bus.port, "ids": {"shoulder": 1, "elbow": 2}}
    sensing = DynamixelDevice.Options(**given, reversed=("elbow",))
    link = Bus(sensing, bed.loop.period_s)
    DynamixelDevice(sensing, "joint_sensors", bed, link)
    constants = {"shoulder": 1.0, "elbow": 1.0}
    with pytest.raises(InputError, match="describes this servo differently"):
        DynamixelDevice(DynamixelDevice.Options(**given, torque_n_m_per_a=constants), "motors", bed, link)


def test_a_set_of_devices_is_observed_armed_and_stopped_in_real_time(bus: EmulatedBus) -> None:
    driver = {"kind": "dynamixel", "port": bus.port, "ids": {"shoulder": 1, "elbow": 2}, "watchdog_s": 2.0}
    torques = {"torque_n_m_per_a": {"shoulder": CONSTANT, "elbow": CONSTANT}}
    drivers = {"devices.joint_sensors.driver": driver, "devices.motors.driver": {**driver, **torques}}
    devices, _ = build_subset(granite.load("free-flyer", drivers), ["joint_sensors", "motors"], [])
    devices.open()
    command = Command(0.0, (np.array([0.5, -0.25]),), np.zeros(0))
    for k in range(20):
        sample = devices.read(TICK_S * k)
        applied = devices.observe(TICK_S * k)[0] if k < 10 else devices.write(TICK_S * k, command)[0]
        assert applied is not None
        if k == 9:
            assert applied.status == Status.OK
            assert not applied.values.any()
            assert not any(servo.registers[64] for servo in bus.servos.values())
        time.sleep(0.01)  # more than the answers take, also on a busy machine
    assert sample.frames[0].number >= 10
    np.testing.assert_allclose(applied.values, [0.5, -0.25], atol=STEP)
    assert devices.stop(TICK_S * k, paced=True) == {}
    assert devices.close() == {}
    assert not any(servo.registers[64] for servo in bus.servos.values())


def driven(port: str) -> granite.Testbed:
    driver = {"kind": "dynamixel", "port": port, "ids": {"shoulder": 1, "elbow": 2}}
    return granite.load("free-flyer", {"devices.joint_sensors.driver": driver})


def test_a_wrong_port_is_refused_with_the_device_and_the_key() -> None:
    devices, _ = build_subset(driven("/dev/no-such-port"), ["joint_sensors"], [])
    with pytest.raises(InputError, match=r"devices\.joint_sensors\.driver\.port = .*no such port"):
        devices.open()


def test_without_the_extra_the_install_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dynamixel_sdk", None)
    with pytest.raises(InputError, match=r"not installed, expected it: pip install granite-robotics\[dynamixel\]"):
        build_subset(driven("/dev/ttyUSB0"), ["joint_sensors"], [])
