"""The session of a board: what it commands before the board is armed."""

import time
from pathlib import Path

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.config.records import Status
from granite.drivers.board.description import Channel
from granite.drivers.board.handshake import LinkOptions
from granite.drivers.board.session import BoardSession
from granite.drivers.board.wire import ChannelKind, FrameKind
from tests.support.scripted_board import scripted

CHANNELS = (
    Channel(0, ChannelKind.MOTOR, "elbow", "N m", 1e-4, -10000, 10000),
    Channel(1, ChannelKind.GRIP, "tip", "1", 1.0, 0, 1),
)


def test_a_second_name_of_a_port_is_refused_with_the_first_one(tmp_path: Path):
    bed, link = granite.load("free-flyer"), tmp_path / "link"
    with scripted() as board:
        link.symlink_to(board.port)
        first = BoardSession.of(bed, LinkOptions(port=board.port, board="arm"))
        with pytest.raises(InputError) as raised:
            BoardSession.of(bed, LinkOptions(port=str(link), board="arm"))
        error = raised.value
        assert error.problem == "another device of this testbed uses this port under another name"
        assert (error.key, error.value, error.expected) == ("port", str(link), f'"{board.port}"')
        assert BoardSession.of(bed, LinkOptions(port=board.port, board="arm")) is first


def test_until_it_is_armed_a_board_gets_commands_at_rest_that_hold_the_grips_and_resets():
    with scripted(channels=CHANNELS) as board:
        session = BoardSession.of(granite.load("free-flyer"), LinkOptions(port=board.port, board="arm"))
        session.attach(is_actuator=True)
        session.open()
        session.map({"torque": (ChannelKind.MOTOR, "elbow"), "grip": (ChannelKind.GRIP, "tip")})
        for k in range(17):
            session.write(0.005 * k, session.slots(["torque", "grip"]), np.array([500, 1]))
            end = time.monotonic() + 30
            while not board.heard or board.heard[-1].sequence != session.link.line.sequence:
                assert time.monotonic() < end
                time.sleep(0.001)
            board.send(board.report(board.heard[-1].sequence, time_us=5000 * k, channels=2))
            time.sleep(0.002)
            assert session.status(0.005 * k, True) == Status.NO_FRAME
        assert session.status(2.0, True) in (Status.SILENT, Status.REFUSED)
        commands = [frame for frame in board.heard if frame.kind == FrameKind.COMMAND]
        assert {frame.payload[4:] for frame in commands} == {bytes(4) + bytes([1, 0, 0, 0])}
        assert [frame.kind for frame in board.heard].count(FrameKind.RESET) == 2
        session.close()
