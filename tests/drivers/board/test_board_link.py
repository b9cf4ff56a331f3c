"""The link inside the loop: it never blocks, and each odd frame is counted and handled."""

import time
from collections.abc import Iterator

import numpy as np
import pytest

from granite.drivers.board.clock_map import ClockMap
from granite.drivers.board.frame import encode
from granite.drivers.board.link import BoardLink, pulse
from granite.drivers.board.wire import REFUSAL, FrameKind, FrameVerdict, Refusal
from tests.support.scripted_board import ScriptedBoard, link_to, scripted
from tests.support.waiting import until

REST = np.zeros(2, np.int32)


@pytest.fixture
def board() -> Iterator[ScriptedBoard]:
    with scripted() as made:
        yield made


@pytest.fixture
def link(board: ScriptedBoard) -> Iterator[BoardLink]:
    made = link_to(board)
    made.open()
    yield made
    made.close()


def sent(board: ScriptedBoard, link: BoardLink, t: float = 0.0) -> int:
    """The number of a command that has reached the board."""
    before = len(board.heard)
    assert link.command(t, REST)
    until(lambda: len(board.heard) > before)
    return board.heard[-1].sequence


def poll_until(link: BoardLink, frames: int, t: float = 0.0) -> list:
    """The reports of all polls until so many frames, whole or damaged, have arrived."""
    decoder, reports = link.line.decoder, []
    before = sum(decoder.count)
    end = time.monotonic() + 30
    while sum(decoder.count) < before + frames:
        assert time.monotonic() < end
        if report := link.poll(t):
            reports.append(report)
    return reports


def test_a_command_and_its_report(board: ScriptedBoard, link: BoardLink):
    assert link.is_up
    assert link.poll(0.0) is None
    number = sent(board, link, 1.0)
    board.send(board.report(number, time_us=123))
    (report,) = poll_until(link, 1, 1.004)
    assert report.time_us == 123
    assert link.report is report
    assert link.clock.loop_time(123) == pytest.approx(1.002)
    assert link.clock.uncertainty_s == pytest.approx(0.002)
    assert (link.counts.late, link.counts.missed, link.counts.merged) == (0, 0, 0)


def test_latches_are_counted_whatever_their_numbers(board: ScriptedBoard, link: BoardLink):
    for latch in (7_000_000, 7_000_000, 7_000_001, 5):
        board.send(board.report(sent(board, link), latch=latch))
        poll_until(link, 1)
    assert link.numbers()["latches"] == 2


def test_a_command_carries_the_layout_its_slots_and_what_was_heard(board: ScriptedBoard, link: BoardLink):
    link.command(0.0, np.array([pulse(0.001, 0.65535), -5], np.int32))
    until(lambda: board.heard)
    frame = board.heard[0]
    assert frame.payload == bytes([7, 0, 0, 0]) + bytes([100, 0, 0xFF, 0xFF]) + b"\xfb\xff\xff\xff"
    assert frame.answers == board.sequence


def test_a_partial_frame_waits_for_its_rest(board: ScriptedBoard, link: BoardLink):
    whole = board.report(sent(board, link))
    board.send(whole[:20])
    until(lambda: link.poll(0.0) is None and link.line.decoder.is_within_frame)
    assert link.counts.partial >= 1
    board.send(whole[20:])
    assert len(poll_until(link, 1)) == 1


def test_of_merged_frames_the_newest_counts(board: ScriptedBoard, link: BoardLink):
    first = board.report(sent(board, link), time_us=1)
    board.send(first + board.report(sent(board, link), time_us=2))
    time.sleep(0.01)
    (report,) = poll_until(link, 2)
    assert report.time_us == 2
    assert link.counts.merged == 1


def test_repeated_and_reordered_frames_are_ignored(board: ScriptedBoard, link: BoardLink):
    number = sent(board, link)
    n = board.sequence
    board.send(board.report(number, 10, n + 3) + board.report(number, 10, n + 3) + board.report(number, 5, n + 2))
    assert [report.time_us for report in poll_until(link, 3)] == [10]
    assert (link.counts.repeated, link.counts.reordered, link.counts.missed) == (1, 1, 2)


def test_sequence_numbers_wrap(board: ScriptedBoard, link: BoardLink):
    link.line.heard = link.line.sequence = 65534
    for number in (65535, 0, 1):
        assert sent(board, link) == number
        board.send(board.report(number, time_us=number + 1, sequence=number))
        assert len(poll_until(link, 1)) == 1
    assert (link.counts.missed, link.counts.reordered, link.counts.late) == (0, 0, 0)


def test_a_late_report_is_used_and_counted(board: ScriptedBoard, link: BoardLink):
    old = sent(board, link, 0.0)
    sent(board, link, 0.005)
    board.send(board.report(old, time_us=9))
    (report,) = poll_until(link, 1, 0.006)
    assert report.time_us == 9
    assert link.counts.late == 1
    assert link.clock.uncertainty_s == pytest.approx(0.003)  # from its own command, not the newest


def test_corrupt_frames_are_counted_and_the_next_one_arrives(board: ScriptedBoard, link: BoardLink):
    whole = board.report(sent(board, link))
    board.send(whole[:9] + bytes([whole[9] ^ 64]) + whole[10:] + b"\x03noise" + board.report(sent(board, link), 77))
    assert [report.time_us for report in poll_until(link, 3)] == [77]
    count = link.line.decoder.count
    assert sum(count) - count[FrameVerdict.ACCEPTED] == 2
    assert link.counts.missed == 1


def test_frames_that_make_no_sense_are_counted(board: ScriptedBoard, link: BoardLink):
    number = sent(board, link)
    board.send(board.report(number, channels=5) + board.frame(FrameKind.COMMAND, b"", number))
    assert poll_until(link, 2) == []
    assert link.counts.unexpected == 2


def test_a_refusal_is_kept_until_a_report_follows(board: ScriptedBoard, link: BoardLink):
    number = sent(board, link)
    board.send(board.frame(FrameKind.REFUSAL, REFUSAL.pack(FrameKind.RESET, Refusal.NOT_AT_REST, number), number))
    poll_until(link, 1)
    assert link.refusal is Refusal.NOT_AT_REST
    board.send(board.report(sent(board, link)))
    poll_until(link, 1)
    assert link.refusal is None


def test_a_port_that_takes_no_more_bytes_does_not_block(board: ScriptedBoard, link: BoardLink):
    stopped = board.pause()
    while link.command(0.0, REST):
        assert link.counts.sent < 100_000, "the port never filled"
    assert link.counts.blocked == 1
    assert link.is_up
    stopped.set()
    until(lambda: len(board.heard) >= link.counts.sent - 5)  # less HELLO, DESCRIBE, and the last one, half sent
    until(lambda: link.command(0.0, REST))  # sends that rest first
    until(lambda: len(board.heard) == link.counts.sent - 4)
    numbers = [frame.sequence for frame in board.heard]
    assert numbers == [n & 0xFFFF for n in range(5, 5 + len(numbers))]  # none was damaged


@pytest.mark.parametrize("verb", ["poll", "command"])
def test_an_unplugged_port_is_named_and_stays_away(verb: str):
    with scripted() as board:
        link = link_to(board)
        link.open()
        board.unplug()
        until(lambda: not (link.poll(1.0) if verb == "poll" else link.command(1.0, REST)) and not link.is_up)
    assert link.counts.lost == 1
    assert "error" in link.cause.lower() or "hung up" in link.cause
    assert link.poll(100.0) is None
    assert not link.command(100.0, REST)
    assert not link.reset(100.0)
    assert link.counts.lost == 1
    link.close()


def test_a_port_that_comes_back_is_left_alone_unless_the_policy_says_otherwise(tmp_path):
    port = tmp_path / "port"
    with scripted() as first:
        port.symlink_to(first.port)
        link = link_to(str(port))
        link.open()
        first.unplug()
        until(lambda: link.poll(1.0) is None and not link.is_up)
        port.unlink()
    with scripted() as second:
        port.symlink_to(second.port)
        for t in range(2, 20):
            assert link.poll(float(t)) is None
        assert link.line is None  # it was not even opened
    link.close()


@pytest.mark.parametrize(("replacement", "is_same"), [({}, True), ({"name": "leg"}, False), ({"layout": 8}, False)])
def test_a_replugged_port_is_used_again_only_with_the_same_board(tmp_path, replacement: dict, is_same: bool):
    port = tmp_path / "port"
    with scripted() as first:
        port.symlink_to(first.port)
        link = link_to(str(port), replug="reconnect", retry_s=0.5)
        link.open()
        first.unplug()
        until(lambda: link.poll(1.0) is None and not link.is_up)
        port.unlink()
        assert link.poll(1.4) is None
        assert link.poll(1.6) is None
        assert "no such port" in link.cause
    with scripted(**replacement) as second:
        port.symlink_to(second.port)
        link.poll(2.2)
        until(lambda: link.poll(2.3) is None and (link.is_up or "another board" in link.cause))
        assert link.is_up is is_same
        assert link.counts.replugged == int(is_same)
        assert link.report is None  # so that nothing resets a latch of before
        if is_same:
            number = sent(second, link, 2.4)
            second.send(second.report(number))
            assert len(poll_until(link, 1, 2.5)) == 1
        link.close()


def test_a_board_is_greeted_once_in_a_retry_time_and_never_where_it_has_answered(tmp_path):
    port = tmp_path / "port"
    with scripted() as first:
        port.symlink_to(first.port)
        link = link_to(str(port), replug="reconnect", retry_s=0.5)
        link.open()
        for t in np.arange(0.0, 2.0, 0.005):
            link.poll(t)
        assert link.counts.sent == len(first.channels) + 1  # HELLO and DESCRIBE of each channel, when it was opened
        first.unplug()
        until(lambda: link.poll(2.0) is None and not link.is_up)
        port.unlink()
    with scripted() as second:
        second.is_silent = True
        port.symlink_to(second.port)
        before = link.counts.sent
        for t in np.arange(3.0, 4.4, 0.005):
            link.poll(t)
        assert link.counts.sent - before == 3  # at 3.0, 3.5 and 4.0 s
        link.close()


def test_a_board_that_was_restarted_is_lost(board: ScriptedBoard, link: BoardLink):
    number = sent(board, link)
    board.send(encode(FrameKind.REFUSAL, 1, number, REFUSAL.pack(FrameKind.COMMAND, Refusal.NO_SESSION, number)))
    poll_until(link, 1)
    assert not link.is_up
    assert link.cause == "the board was restarted"


def exchanges(drift: float, offset: float, seconds: float, period: float = 0.005, seed: int = 1):
    """Sent, received, board time [us] and true loop time of samples; delays of 50 us and more, some of 5 ms."""
    rng = np.random.default_rng(seed)
    for sent in np.arange(0.0, seconds, period):
        there, back = 5e-5 + rng.exponential(2e-4, 2) + (rng.random(2) < 0.02) * 5e-3
        sampled = sent + there
        yield sent, sampled + back, round((sampled - offset) / (1 + drift) * 1e6), sampled


@pytest.mark.parametrize("drift", [0.0, 5e-5, -1.2e-4])
@pytest.mark.parametrize("offset", [-3600.0, 1e5])
def test_the_truth_is_inside_the_bounds_and_they_narrow_to_the_least_delay(drift: float, offset: float):
    clock, resolution = ClockMap(), 1e-6
    for sent, received, board_us, true in exchanges(drift, offset, 40.0):
        clock.update(sent, received, board_us)
        assert abs(clock.loop_time(board_us) - true) <= clock.uncertainty_s + resolution
    assert clock.jumps == 0
    assert clock.uncertainty_s < 1e-4
    assert abs(clock.drift - drift) <= clock.drift_uncertainty + 1e-7
    assert clock.drift_uncertainty < 2e-5


def test_a_drift_that_changes_with_temperature_is_followed():
    clock, board = ClockMap(), 0.0
    rng = np.random.default_rng(2)
    for k in range(20_000):
        t = k * 0.005
        board += 0.005 * (1 + 2e-5 * np.sin(2 * np.pi * t / 3000))
        there, back = 5e-5 + rng.exponential(2e-4, 2)
        clock.update(t - there, t + back, round(board * 1e6))
        assert abs(clock.loop_time(round(board * 1e6)) - t) <= clock.uncertainty_s + 1e-6
    assert clock.jumps == 0


def test_a_clock_that_jumps_is_counted_and_mapped_again():
    clock = ClockMap()
    for sent, received, board_us, _ in exchanges(0.0, 0.0, 2.0):
        clock.update(sent, received, board_us)
    refused = 0
    for sent, received, board_us, true in exchanges(0.0, 0.0, 2.0):
        if not clock.update(sent + 2, received + 2, board_us + 2_500_000):
            refused += 1
            continue
        assert abs(clock.loop_time(board_us + 2_500_000) - true - 2) <= clock.uncertainty_s + 1e-6
    assert (clock.jumps, refused) == (1, 4)


def test_a_report_that_comes_after_the_time_of_a_late_tick_is_no_jump():
    """A tick that wakes up 3 ms late reads a sample that was taken after the time which it notes for it."""
    clock = ClockMap()
    for k, (sent, received, board_us, true) in enumerate(exchanges(0.0, 0.0, 4.0)):
        is_late = k > 100 and k % 10 == 0
        assert clock.update(sent, true - 0.003 if is_late else received, board_us) is not is_late
        assert abs(clock.loop_time(board_us) - true) <= clock.uncertainty_s + 1e-6
    assert clock.jumps == 0
