"""A board that its devices share: one link for each port, and what it commands before it is armed and after a stop."""

import time
from pathlib import Path

import numpy as np
import pytest

from granite.config.errors import InputError
from granite.config.records import Status
from granite.drivers.board.board import Board
from granite.drivers.board.description import Channel
from granite.drivers.board.device import BoardDevice
from granite.drivers.board.handshake import LinkOptions
from granite.drivers.board.wire import ChannelKind, FrameKind
from granite.drivers.shared_link import SharedLinks
from tests.support.scripted_board import ScriptedBoard, scripted
from tests.support.waiting import until

PERIOD_S = 0.005
CHANNELS = (
    Channel(0, ChannelKind.MOTOR, "elbow", "N m", 1e-4, -10000, 10000),
    Channel(1, ChannelKind.GRIP, "tip", "1", 1.0, 0, 1),
)


def table(port: str, **keys: object) -> BoardDevice.Options:
    return BoardDevice.Options(kind="board", port=port, board="arm", **keys)


def test_a_second_name_of_a_port_is_refused_with_the_first_one(tmp_path: Path):
    (tmp_path / "port").touch()
    (tmp_path / "link").symlink_to(tmp_path / "port")
    port, link = str(tmp_path / "port"), str(tmp_path / "link")
    links = SharedLinks(PERIOD_S)
    first = links.of(table(port))
    with pytest.raises(InputError) as raised:
        links.of(table(link))
    error = raised.value
    assert error.problem == "another device of this testbed uses this port under another name"
    assert (error.key, error.value, error.expected) == ("port", link, f'"{port}"')
    assert links.of(table(port, channels={"elbow_torque": "arm_2"})) is first
    with pytest.raises(InputError, match=r"watchdog_s = 0.5: expected 0.02, as the other devices on"):
        links.of(table(port, watchdog_s=0.5))
    assert links.of(table("/dev/another")) is not first
    assert SharedLinks(PERIOD_S).of(table(port)) is not first  # of another set of devices


def commanded(board: Board, there: ScriptedBoard, ticks: range) -> None:
    """Command a torque and a grip in ticks whose commands are all answered."""
    columns = board.command_columns(["torque", "grip"])
    for k in ticks:
        board.receive(PERIOD_S * k)
        board.set_counts(columns, np.array([500, 1]))
        board.send(PERIOD_S * k)
        until(lambda: there.heard and there.heard[-1].sequence == board.link.line.sequence, 30.0)
        there.send(there.report(there.heard[-1].sequence, time_us=5000 * k, channels=2))
        time.sleep(0.002)
        assert board.status(PERIOD_S * k, True) == Status.NO_FRAME


def opened(there: ScriptedBoard) -> Board:
    board = Board(LinkOptions(port=there.port, board="arm"), PERIOD_S)
    board.has_actuators = True
    board.open()
    board.map({"torque": (ChannelKind.MOTOR, "elbow"), "grip": (ChannelKind.GRIP, "tip")})
    return board


def test_until_it_is_armed_a_board_gets_commands_at_rest_that_hold_the_grips_and_resets():
    with scripted(channels=CHANNELS) as there:
        board = opened(there)
        commanded(board, there, range(17))
        assert board.status(2.0, True) in (Status.SILENT, Status.REFUSED)
        commands = [frame for frame in there.heard if frame.kind == FrameKind.COMMAND]
        assert {frame.payload[4:] for frame in commands} == {bytes(4) + bytes([1, 0, 0, 0])}
        assert [frame.kind for frame in there.heard].count(FrameKind.RESET) == 2
        board.close()


def test_a_board_that_was_stopped_before_it_was_armed_is_not_armed_by_late_commands():
    with scripted(channels=CHANNELS) as there:
        board = opened(there)
        commanded(board, there, range(5))
        board.stop(PERIOD_S * 5)
        commanded(board, there, range(6, 17))
        kinds = [frame.kind for frame in there.heard]
        assert FrameKind.STOP in kinds
        assert FrameKind.RESET not in kinds
        board.close()
