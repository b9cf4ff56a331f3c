"""The same behaviour on every build: the host build, and two ARM builds in QEMU. Times are board times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from granite.drivers.board.frame import WireFrame, encode
from granite.drivers.board.link import BoardLink, pulse
from granite.drivers.board.numbered_line import LinkCounts, NumberedLine
from granite.drivers.board.port import Port
from granite.drivers.board.report import Report
from granite.drivers.board.wire import RESET, VERSION, ChannelKind, FrameKind, LatchReason, Refusal
from tests.firmware.emulated import (
    ACTUATORS,
    ELBOW,
    GRIP,
    MACHINES,
    SHOULDER,
    WHEEL,
    EmulatedBoard,
    answered,
    arm,
    exchange,
    running,
    slots,
)
from tests.support.waiting import until

OUTPUTS = {0: pulse(0, 0.5), SHOULDER: 1234, ELBOW: -567, WHEEL: 89, GRIP: 1}


@pytest.fixture(scope="module", params=["host", *(pytest.param(name, marks=pytest.mark.slow) for name in MACHINES)])
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedBoard]:
    with running(request.param, tmp_path_factory.mktemp("board")) as made:
        yield made


@pytest.fixture
def link(board: EmulatedBoard) -> Iterator[BoardLink]:
    made = board.link()
    yield made
    made.close()
    board.outside.set()


def refused(link: BoardLink) -> Refusal:
    until(lambda: link.poll(time.monotonic()) is None and link.refusal is not None)
    assert link.refusal is not None
    return link.refusal


def since(report_us: int, earlier_us: int) -> int:
    """Between two times modulo 2^32."""
    return (report_us - earlier_us) & 0xFFFFFFFF


def test_it_describes_itself(link: BoardLink):
    description = link.description
    assert description.board.name == "free-flyer"
    assert description.board.firmware.startswith("1.")
    assert len(description.channels) == description.board.channels == 20
    assert len(description.actuators) == ACTUATORS
    assert description.channel(ChannelKind.VALVE, "r1").low == 1000
    assert description.channel(ChannelKind.MOTOR, "elbow").scale == pytest.approx(1e-4)
    assert [c.unit for c in description.channels[8:11]] == ["N m"] * 3


def test_it_starts_latched_and_reports_while_it_is(board: EmulatedBoard, link: BoardLink):
    report = exchange(link, OUTPUTS)
    assert not report.is_armed
    assert report.slots[8:ACTUATORS].tolist() == [0, 0, 0, report.slots[GRIP]]


def test_it_samples_its_sensors(board: EmulatedBoard, link: BoardLink):
    angles = (123456, -654321)
    board.outside.set((*angles, 0, 0, 0, 0, 0, 0))
    until(lambda: tuple(exchange(link).slots[12:14]) == angles)


def test_armed_it_applies_limits_and_reports_set_points(board: EmulatedBoard, link: BoardLink):
    arm(link)
    report = exchange(link, OUTPUTS)
    assert report.is_armed
    assert report.slots[8:12].tolist() == [1234, -567, 89, 1]
    assert not report.is_limited
    until(lambda: board.outside.changes[-1][1] == (1, 0, 0, 0, 0, 0, 0, 0, 1234, -567, 89, 1))
    report = exchange(link, {SHOULDER: 99999, ELBOW: -99999, GRIP: 7})
    assert report.slots[8:12].tolist() == [20000, -10000, 0, 1]
    assert report.is_limited


def test_a_pulse_is_timed_by_the_board(board: EmulatedBoard, link: BoardLink):
    arm(link)
    before = exchange(link).slots[:8].astype(np.int64)
    board.outside.changes.clear()
    # The host sends the command once, and again only after the pulses are over.
    exchange(link, {2: pulse(0.02, 0.03), 3: pulse(0.0, 0.06)})
    until(lambda: len(edges(board, 2)) == len(edges(board, 3)) == 2)
    after = exchange(link)
    opened = after.slots[:8].astype(np.int64) - before
    assert opened[[0, 1, 4, 5, 6, 7]].tolist() == [0] * 6
    for valve, on_us in ((2, 30_000), (3, 60_000)):
        begin, end = edges(board, valve)
        assert abs(end - begin - opened[valve] * 10) <= 20
        assert abs(end - begin - on_us) <= 2000 + after.late_us  # QEMU wakes every millisecond


def edges(board: EmulatedBoard, valve: int) -> list[int]:
    """Board times at which a valve that was closed first opened and closed."""
    states = [0, *(outputs[valve] for _, outputs in board.outside.changes)]
    times = [t for t, _ in board.outside.changes]
    return [t for t, was, now in zip(times, states[:-1], states[1:], strict=True) if was != now]


def test_no_pulse_is_shorter_than_the_valve_can_open(board: EmulatedBoard, link: BoardLink):
    arm(link)
    before = int(exchange(link).slots[5])
    exchange(link, {5: pulse(0.0, 0.001)})
    exchange(link)  # closed by command, but still within the shortest pulse
    until(lambda: (board.outside.changes[-1][1])[5] == 0 and exchange(link).slots[5] - before >= 1000)


def test_no_pulse_is_longer_than_the_board_allows(board: EmulatedBoard):
    link = board.link(watchdog_s=1.0)
    arm(link)
    board.outside.changes.clear()
    assert exchange(link, {6: pulse(0.0, 0.6)}).is_limited
    until(lambda: len(edges(board, 6)) == 2)
    begin, end = edges(board, 6)
    assert abs(end - begin - 500_000) <= 2000 + exchange(link).late_us
    assert not exchange(link, {6: pulse(0.0, 0.5)}).is_limited
    link.close()


def test_a_valve_commanded_in_every_tick_stays_open_without_a_gap(board: EmulatedBoard, link: BoardLink):
    arm(link)
    board.outside.changes.clear()
    for _ in range(10):
        assert exchange(link, {1: pulse(0, 0.6)}).is_armed
    until(lambda: edges(board, 1))
    assert len(edges(board, 1)) == 1


@pytest.mark.parametrize("watchdog_s", [0.02, 0.05])
def test_the_watchdog_makes_outputs_safe_and_stays_latched(board: EmulatedBoard, watchdog_s: float):
    link = board.link(watchdog_s=watchdog_s)
    for _ in range(20):  # on a loaded machine the test itself may be late: then it tries again
        arm(link)
        link.command(time.monotonic(), slots(OUTPUTS))
        armed = answered(link)
        if armed.is_armed:
            break
    time.sleep(2 * watchdog_s)
    link.stop(time.monotonic())  # answered by a report, and feeds no watchdog
    safe = answered(link)
    assert not safe.is_armed
    assert safe.reason == LatchReason.WATCHDOG
    assert safe.latch == (armed.latch + 1) & 0xFFFFFFFF
    assert since(safe.latched_us, safe.commanded_us) == round(watchdog_s * 1e6) + 1 + safe.late_us
    assert safe.slots[8:12].tolist() == [0, 0, 0, 1]  # the grip holds
    until(lambda: board.outside.changes[-1][1] == (0,) * 11 + (1,))
    for _ in range(10):  # healthy commands alone do not arm it
        report = exchange(link, OUTPUTS)
    assert not report.is_armed
    assert report.latch == safe.latch
    link.close()


def test_the_emergency_stop_makes_outputs_safe_and_stays_latched(board: EmulatedBoard, link: BoardLink):
    arm(link)
    exchange(link, OUTPUTS)
    board.outside.set(emergency_stop=True)
    until(lambda: exchange(link, OUTPUTS).is_emergency_stop_pressed)
    report = exchange(link)
    assert not report.is_armed
    assert report.reason == LatchReason.EMERGENCY_STOP
    until(lambda: board.outside.changes[-1][1] == (0,) * 11 + (1,))
    for _ in range(30):
        exchange(link)
    link.reset(time.monotonic())
    assert refused(link) in (Refusal.EMERGENCY_STOP, Refusal.NOT_STEADY)
    board.outside.set()
    until(lambda: not exchange(link).is_emergency_stop_pressed)
    assert not exchange(link).is_armed
    arm(link)


def test_stop_and_hello_make_outputs_safe(link: BoardLink):
    arm(link)
    exchange(link, OUTPUTS)
    link.stop(time.monotonic())
    report = answered(link)
    assert (report.is_armed, report.reason) == (False, LatchReason.STOP)
    arm(link)
    hand = ByHand(link)
    assert hand.ask(FrameKind.HELLO).kind == FrameKind.BOARD
    report = Report.unpack(hand.ask(FrameKind.COMMAND, link._layout + slots().tobytes()).payload)
    assert (report.is_armed, report.reason) == (False, LatchReason.HELLO)


class ByHand:
    """Frames written one by one, past the checks of the link, and the answer of each."""

    def __init__(self, link: BoardLink) -> None:
        assert link.line is not None
        self.line = link.line
        self.sequence, self.heard = self.line.sequence, self.line.heard or 0

    def ask(
        self, kind: int, payload: bytes = b"", ahead: int = 1, unheard: int = 0, version: int = VERSION
    ) -> WireFrame:
        sequence = (self.sequence + ahead) & 0xFFFF
        self.sequence = max(sequence, self.sequence)
        self.line.port.write(encode(kind, sequence, (self.heard - unheard) & 0xFFFF, payload, version))
        frames: list[WireFrame] = []
        until(lambda: frames.extend(self.line.receive()) or frames)
        self.heard = frames[0].sequence
        return frames[0]

    def refusal(self, *arguments: object, **keys: int) -> Refusal:
        answer = self.ask(*arguments, **keys)  # type: ignore[arg-type]
        assert answer.kind == FrameKind.REFUSAL
        return Refusal(answer.payload[1])


def test_a_reset_needs_steady_commands_at_rest_that_acknowledge_and_name_the_latch(link: BoardLink):
    hand = ByHand(link)

    def command(counts: dict[int, int], **keys: int) -> Report:
        return Report.unpack(hand.ask(FrameKind.COMMAND, link._layout + slots(counts).tobytes(), **keys).payload)

    latch = command({}).latch

    def reset_after(counts: dict[int, int], watchdog_us: int = 20_000, **keys: int) -> Refusal:
        """Refused for what the commands say, not for a pause of this test."""
        for _ in range(50):
            for _ in range(6):
                command(counts, **keys)
            if (refusal := hand.refusal(FrameKind.RESET, RESET.pack(latch, watchdog_us))) != Refusal.NOT_STEADY:
                return refusal
        raise AssertionError("never steady")

    assert hand.refusal(FrameKind.RESET, RESET.pack(latch, 20_000)) == Refusal.NOT_STEADY
    assert hand.refusal(FrameKind.RESET, RESET.pack(latch ^ 1, 20_000)) == Refusal.OTHER_LATCH
    assert reset_after({SHOULDER: 1}) == Refusal.NOT_AT_REST
    assert reset_after({4: pulse(0.0, 0.01)}) == Refusal.NOT_AT_REST
    assert reset_after({GRIP: 1}, watchdog_us=1) == Refusal.WATCHDOG_RANGE
    assert reset_after({}, unheard=100) == Refusal.NOT_ACKNOWLEDGED
    assert not command({}).is_armed


def test_what_was_sent_before_a_brown_out_arms_nothing_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Neither the reset alone, among the commands of a host that is there again, nor all frames from `HELLO` on."""
    sent: list[bytes] = []
    write = Port.write
    monkeypatch.setattr(Port, "write", lambda port, frame: sent.append(frame) or write(port, frame))
    with running("host", tmp_path) as board:
        assert arm(board.link()).is_armed
    monkeypatch.undo()
    reset = sent[-1]
    with running("host", tmp_path) as board:
        link = board.link()
        for _ in range(6):
            exchange(link)
        assert link.line is not None
        link.line.port.write(reset)
        until(lambda: (link.poll(time.monotonic()) or link.refusal) is not None)
        assert link.refusal in (Refusal.OTHER_LATCH, Refusal.OUT_OF_ORDER)
        link.close()
    with running("host", tmp_path) as board:
        line, answers = NumberedLine(board.port, 2_000_000, LinkCounts()), []
        for i, frame in enumerate(sent, start=1):
            line.port.write(frame)
            until(lambda i=i: answers.extend(line.receive()) or len(answers) == i)  # type: ignore[misc]
        assert answers[-1].payload[:2] == bytes([FrameKind.RESET, Refusal.OTHER_LATCH])


def test_frames_out_of_order_of_another_layout_or_unknown_are_refused_by_name(link: BoardLink):
    hand = ByHand(link)
    layout, rest = link._layout, bytes(4 * ACTUATORS)
    assert hand.ask(FrameKind.COMMAND, layout + rest).kind == FrameKind.REPORT
    assert hand.refusal(FrameKind.COMMAND, layout + rest, ahead=0) == Refusal.OUT_OF_ORDER
    assert hand.refusal(FrameKind.COMMAND, layout + rest, ahead=-3) == Refusal.OUT_OF_ORDER
    assert hand.refusal(FrameKind.COMMAND, bytes(4) + rest) == Refusal.WRONG_LAYOUT
    assert hand.refusal(FrameKind.COMMAND, layout + rest + rest, ahead=0) == Refusal.BAD_LENGTH
    assert hand.refusal(0x33, ahead=0) == Refusal.UNKNOWN_KIND
    assert hand.refusal(FrameKind.DESCRIBE, bytes([20])) == Refusal.NO_SUCH_CHANNEL
    assert hand.refusal(FrameKind.STOP, ahead=0, version=VERSION + 1) == Refusal.WRONG_VERSION
    report = Report.unpack(hand.ask(FrameKind.COMMAND, layout + rest, ahead=7).payload)
    assert (report.missed, report.refused) == (6, 7)
    assert report.damaged == 1  # the one of another version


def test_damage_costs_one_frame(link: BoardLink):
    exchange(link)
    assert link.line is not None
    before = link.counts.missed
    for damage in (b"\x07garbage", b"\x00" * 50, b"\x01" * 400, encode(FrameKind.STOP, 1, 0)[:-3]):
        link.line.port.write(damage)
        exchange(link)
    assert link.counts.missed == before
    assert exchange(link).damaged == 3  # zeros alone are no frame


def test_board_time_is_mapped_to_loop_time(link: BoardLink):
    for _ in range(50):
        report = exchange(link)
    assert link.clock.jumps == 0
    assert link.clock.uncertainty_s < 0.1
    now = time.monotonic()
    assert abs(link.clock.loop_time(report.time_us) - now) < 1.0


@pytest.mark.slow
def test_the_converter_of_the_stm32_runs_in_qemu(tmp_path: Path):
    with running("stm32f405-qemu", tmp_path) as board:
        link = board.link()
        pressures = {int(exchange(link).slots[18]) for _ in range(20)}
        assert len(pressures) > 1
        assert all(-2048 <= p <= 2047 for p in pressures)
        link.close()
