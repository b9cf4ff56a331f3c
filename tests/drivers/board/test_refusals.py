"""A wrong port, board, firmware, wiring or rate is refused in one sentence that names it."""

import multiprocessing
import os
import pty

import pytest

import granite
from granite.config.errors import InputError
from granite.drivers.board.description import BoardIdentity, Description
from granite.drivers.board.port import Port
from granite.drivers.board.wire import ChannelKind
from tests.support.scripted_board import CHANNELS, link_to, scripted


def sentence(board, **options) -> str:
    link = link_to(board, **options)
    with pytest.raises(InputError) as raised:
        link.open()
    assert not link.is_up
    return str(raised.value)


def test_no_such_port():
    assert sentence("/dev/ttyGRANITE9").startswith('port = "/dev/ttyGRANITE9": no such port, expected ')


def test_a_file_that_is_no_port(tmp_path):
    file = tmp_path / "file"
    file.touch()
    assert "it can't be opened" in sentence(str(file))


@pytest.mark.parametrize("kind", ["board", "dynamixel"])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"baud": 0}, "baud = 0: expected a number greater than 0"),
        ({"baud": -5}, "baud = -5: expected a number greater than 0"),
        ({"baud": 99999999999}, "baud = 99999999999: expected a number of at most 1e+08"),
        ({"port": "/dev/tty\0"}, 'port = "/dev/tty\\u0000": expected a path without the character NUL'),
    ],
)
def test_a_rate_or_a_port_that_can_not_exist_is_refused_when_the_file_is_loaded(
    kind: str, changes: dict[str, object], said: str
):
    own = {"board": {"board": "arm"}, "dynamixel": {"ids": {"shoulder": 1, "elbow": 2}}}[kind]
    driver = {"kind": kind, "port": "/dev/ttyGRANITE9"} | own | changes
    with pytest.raises(InputError) as raised:
        granite.load("free-flyer", {"devices.motors.driver": driver})
    assert str(raised.value).endswith(f": devices.motors.driver.{said}")


def test_a_port_is_not_taken_for_a_rate():
    with pytest.raises(InputError, match=r"^port = .*: it can't be opened: embedded null byte"):
        Port("/dev/tty\0", 9600)
    with pytest.raises(InputError, match=r"^baud = -5: the port does not have this rate"):
        Port("/dev/ptmx", -5)


def test_a_port_in_use():
    with scripted() as board:
        first = link_to(board)
        first.open()
        assert "another program uses this port, expected a free one" in sentence(board)
        first.close()
        second = link_to(board)
        second.open()
        second.close()


def _as_nobody(port: str, said) -> None:
    os.setegid(65534)
    os.seteuid(65534)
    said.send(sentence(port))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give up its permissions")
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (0o660, "expected that you are in group root: `sudo usermod --append --groups root $USER`"),
        (0o600, "udev rules"),
    ],
)
def test_permission_denied_names_the_group_to_join(mode: int, expected: str):
    board, port = pty.openpty()
    os.fchmod(port, mode)
    os.fchown(port, 0, 0)
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_as_nobody, args=(os.ttyname(port), theirs))
    process.start()
    assert ours.poll(20)
    said = ours.recv()
    process.join()
    os.close(board)
    os.close(port)
    assert "permission denied" in said
    assert expected in said


@pytest.fixture
def hurry(monkeypatch):
    """Less patience with a board that does not answer."""
    monkeypatch.setattr("granite.drivers.board.handshake._ANSWER_S", 0.05)


@pytest.mark.usefixtures("hurry")
def test_nothing_answers():
    with scripted() as board:
        board.is_silent = True
        said = sentence(board)
        assert said == f"port = \"{board.port}\": nothing answers there at 2000000 baud, expected board 'arm'"


@pytest.mark.usefixtures("hurry")
def test_something_else_answers():
    with scripted() as board:
        board.noise = b"AT command not recognised\r\n"
        assert "something answers there, but no frame of it is whole" in sentence(board)


@pytest.mark.usefixtures("hurry")
def test_another_wire_version():
    with scripted(version=1) as board:
        assert "speaks wire version 1, expected firmware of wire version 2" in sentence(board)


def test_another_board():
    with scripted(name="leg") as board:
        assert sentence(board).startswith(f"board = \"arm\": board 'leg' answers on {board.port}")


def test_another_firmware():
    with scripted(firmware="0.9.1") as board:
        assert sentence(board) == (
            "firmware = \"1.\": board 'arm' has firmware 0.9.1, expected a board with this version"
        )
        assert "1.2" in sentence(board, firmware="1.2")


@pytest.mark.parametrize("watchdog_s", [0.005, 2.0])
def test_a_watchdog_time_that_can_not_work(watchdog_s: float):
    with scripted() as board:
        assert "expected 0.01 (two ticks, or the board's limit) to 1" in sentence(board, watchdog_s=watchdog_s)


def test_a_line_too_slow_for_the_tick_is_computed():
    with scripted() as board:
        said = sentence(board, baud=9600, period_s=0.005)
        # 12 + 2 bytes around each of 4 + 2 slots and 30 + 3 slots: 82 bytes, 820 bits
        assert said == (
            "baud = 9600: too slow: an exchange of 82 bytes takes 85.4 ms, the tick 5 ms, expected at least 230400"
        )
        link = link_to(board, baud=230400)
        link.open()
        link.close()


def test_no_port_is_fast_enough():
    with scripted() as board:
        assert "a longer tick: no port has 8.2e+07 baud" in sentence(board, baud=9600, period_s=1e-5)


DESCRIPTION = Description(BoardIdentity("arm", "1.0.0", b"", 3, 7, 20_000, 2_000, 1_000_000, 0), CHANNELS)


def test_another_wiring():
    with pytest.raises(
        InputError, match=r"board 'arm' has no motor of this name, expected elbow \(did you mean 'elbow'"
    ):
        DESCRIPTION.map({"wrist_torque": (ChannelKind.MOTOR, "elbo")})


def test_a_kind_of_channel_that_the_board_does_not_have():
    with pytest.raises(InputError) as raised:
        DESCRIPTION.map({"elbow_angle": (ChannelKind.ENCODER, "elbow"), "elbow_rate": (ChannelKind.RATE, "elbow")})
    assert str(raised.value) == (
        "channels = \"elbow\": board 'arm' has no channel of kind rate, only of valve, motor, encoder, "
        "expected a board with the channel `rate elbow`, or another `KIND NAME` in `channels`"
    )


def test_a_channel_that_is_mapped_twice():
    twice = {"r1_opening": (ChannelKind.VALVE, "r1"), "r2_opening": (ChannelKind.VALVE, "r1")}
    with pytest.raises(InputError, match="channel 'valve r1' is mapped twice, by r1_opening and r2_opening"):
        DESCRIPTION.map(twice)
    both = DESCRIPTION.map(
        {"elbow_torque": (ChannelKind.MOTOR, "elbow"), "elbow_angle": (ChannelKind.ENCODER, "elbow")}
    )
    assert [channel.position for channel in both.values()] == [1, 2]
