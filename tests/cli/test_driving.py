"""Keyboard and gamepad move a robot by jogs, and only as long as a hand is there."""

import os
import struct

import pytest

from granite.cli import driving
from granite.cli.driving import Keyboard, drive
from granite.cli.gamepad import Gamepad
from granite.config.errors import InputError
from granite.rt.operator.driven_coordinates import Coordinates

NAMES = {"base_x": "m", "base_y": "m", "base_heading": "rad", "shoulder": "rad", "elbow": "rad"}
LISTED = [{"name": name, "unit": unit} for name, unit in NAMES.items()]
KEY, AXIS, SYNC = 1, 3, 0
DEAD_MAN, LEAVE, HOLD = 0x136, 0x137, 0x131


class AskedOperator:
    """An operator who keeps what was asked, and refuses the jogs of one coordinate."""

    def __init__(self):
        self.asked = []

    def ask(self, do):
        self.asked.append(do)
        return {"ok": True, "text": ""}

    def jog(self, **rates):
        self.asked.append(rates)
        return {"ok": "base_y" not in rates, "text": "refused: the table ends"}


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr(driving, "_EVERY_S", 0.01)


def test_keys_jog_while_they_are_repeated_and_others_hold_and_leave(capsys):
    typed = iter(["d", "d", "", "w", "w", "\x1b[D", "2]", "+q", " ", "x"])
    operator = AskedOperator()
    drive(operator, Keyboard(Coordinates(LISTED), lambda seconds: next(typed)))
    assert operator.asked == [
        {"base_x": 0.04},
        {"base_x": 0.04},
        {"base_y": 0.04},
        {"base_y": 0.04},
        {"base_x": -0.04},
        {"elbow": 0.1},
        {"base_heading": 0.125},
        "hold",
    ]
    assert capsys.readouterr().out.count("the table ends") == 1  # not once for each repetition


@pytest.fixture
def pad():
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def send(*events):
        os.write(writing, b"".join(struct.pack("llHHi", 0, 0, *event) for event in events))

    with Gamepad(reading, Coordinates(LISTED)) as gamepad:
        yield gamepad, send
    os.close(writing)


def test_a_pad_moves_nothing_without_its_dead_man(pad):
    gamepad, send = pad
    send((AXIS, 0, 32767), (AXIS, 1, -32768))
    assert gamepad.rates(0.01) is None
    send((KEY, DEAD_MAN, 1))
    assert gamepad.rates(0.01) == {"base_x": 0.04, "base_y": 0.04}
    send((AXIS, 0, 2000), (AXIS, 1, 0), (AXIS, 0x10, 1), (AXIS, 0x11, 1))  # near the middle; the next joint, down
    assert gamepad.rates(0.01) == {"elbow": -0.1}
    send((SYNC, 3, 0))  # events were lost: perhaps it was let go
    assert gamepad.rates(0.01) is None


def test_a_pad_that_is_let_go_stops_and_one_that_is_unplugged_leaves(pad):
    gamepad, send = pad
    operator, read = AskedOperator(), gamepad.rates
    steps = iter(
        [((KEY, DEAD_MAN, 1), (AXIS, 3, -32768)), ((KEY, DEAD_MAN, 0),), ((KEY, HOLD, 1),), ((KEY, LEAVE, 1),)]
    )

    def rates(seconds):
        send(*next(steps))
        return read(seconds)

    gamepad.rates = rates
    drive(operator, gamepad)
    assert operator.asked == [{"base_heading": 0.1}, {"base_x": 0.0}, "hold"]
    assert gamepad.leaves


def test_a_pad_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="gamepad = "):
        Gamepad.open(str(tmp_path / "event9"), Coordinates(LISTED))


def test_an_unplugged_pad_ends_the_drive():
    reading, writing = os.pipe()
    os.close(writing)
    with Gamepad(reading, Coordinates(LISTED)) as gamepad:
        assert gamepad.rates(0.05) is None
        assert gamepad.leaves
