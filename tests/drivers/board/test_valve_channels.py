"""Valves of a board: a channel whose pulses do not fit the valves of the testbed is refused at opening."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import granite
from granite.config.errors import InputError
from granite.drivers.board.board import Board
from granite.drivers.board.description import Channel
from granite.drivers.board.device import BoardDevice
from granite.drivers.board.wire import ChannelKind
from tests.support.scripted_board import scripted

#: shortest pulse 10 ms, as the valves of the testbed
R1 = Channel(0, ChannelKind.VALVE, "r1", "s", 1e-5, 1000, 65535)


def opened(name: str, channels: tuple[Channel, ...], changes: dict[str, Any], **mapped: str) -> None:
    """Open a device of a free-flyer on a board that has these channels."""
    bed = granite.load("free-flyer", {"loop.period_s": 0.005} | changes)
    with scripted(channels=tuple(each._replace(position=i) for i, each in enumerate(channels))) as board:
        options = BoardDevice.Options(kind="board", port=board.port, board="arm", channels=mapped)
        link = Board(options, bed.loop.period_s)
        with contextlib.closing(link):
            BoardDevice(options, name, bed, link).open()


def valves(first: Channel = R1, **changes: Any) -> None:
    """Open the thrusters of a free-flyer, the first of them on this channel."""
    opened("thrusters", (first, *(R1._replace(name=f"r{i}") for i in range(2, 9))), changes)


def refused(*args: Any, **changes: Any) -> str:
    with pytest.raises(InputError) as raised:
        valves(*args, **changes)
    assert raised.value.key == "channels.r1_opening"
    return str(raised.value)


def test_valves_as_in_the_testbed_or_with_shorter_pulses_fit():
    valves()
    valves(R1._replace(low=0))
    valves(R1._replace(high=1500))  # three ticks
    valves(R1._replace(low=1001), **{"devices.thrusters.valve.minimum_on_s": 0.010005})  # whole counts


def test_a_shortest_pulse_beyond_the_data_sheet_is_refused_with_both_times():
    assert refused(R1._replace(low=60000)) == (
        "channels.r1_opening: the shortest pulse of channel 'valve r1' is 0.6 s, "
        "expected 0 to 0.01 s, the testbed's valve.minimum_on_s"
    )
    assert "is 0.01001 s" in refused(R1._replace(low=1001))
    assert "is 0.01 s, expected 0 to 0.005 s" in refused(**{"devices.thrusters.valve.minimum_on_s": 0.005})


def test_a_shortest_pulse_below_zero_which_a_board_takes_for_more_than_an_hour_is_refused():
    assert "the shortest pulse of channel 'valve r1' is -1e-05 s" in refused(R1._replace(low=-1))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"unit": "ms", "scale": 1e-3}, "counts of 0.001 ms"),
        ({"unit": "ms"}, "counts of 1e-05 ms"),
        ({"scale": 1e-4}, "counts of 0.0001 s"),
        ({"scale": -1e-5}, "counts of -1e-05 s"),
    ],
)
def test_other_counts_than_those_of_the_wire_format_are_refused(changes: dict[str, Any], expected: str):
    assert refused(R1._replace(**changes)) == (
        f"channels.r1_opening: channel 'valve r1' has {expected}, expected 1e-05 s, as the times of all valves have"
    )


def test_a_longest_pulse_that_can_not_hold_a_valve_open_is_refused():
    assert refused(R1._replace(high=1200)) == (
        "channels.r1_opening: the longest pulse of channel 'valve r1' is 0.012 s, "
        "expected at least 0.015 s: 3 ticks, for a valve that stays open"
    )


def test_a_motor_among_the_valves_and_a_valve_for_a_motor_are_refused():
    motor = Channel(0, ChannelKind.MOTOR, "elbow", "N m", 1e-4, -20000, 20000)
    rest = tuple(R1._replace(name=f"r{i}") for i in range(1, 9))
    with pytest.raises(InputError, match=r"channels.r2_opening: channel 'motor elbow' is no valve"):
        opened("thrusters", (*rest, motor), {}, r2_opening="motor elbow")
    with pytest.raises(InputError, match=r"channels.shoulder_torque: channel 'valve r1' is a valve, expected .* N m"):
        opened("motors", (R1, motor), {}, shoulder_torque="valve r1")


@pytest.mark.parametrize("channel", [R1, Channel(0, ChannelKind.ENCODER, "elbow", "rad", 1e-3, -5000, 5000)])
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"scale": np.nan}, "scale nan, expected a finite number that is not zero"),
        ({"scale": np.inf}, "scale inf, expected a finite number that is not zero"),
        ({"scale": 0.0}, "scale 0, expected a finite number that is not zero"),
        ({"low": 6000, "high": 5000}, "counts from 6000 to 5000, expected the least count first"),
    ],
)
def test_a_channel_without_a_usable_range_is_refused_of_every_kind(
    channel: Channel, changes: dict[str, Any], expected: str
):
    with pytest.raises(InputError) as raised:
        opened("joint_sensors", (channel._replace(**changes),), {})
    assert str(raised.value) == f"board = \"arm\": its channel '{channel.label}' has {expected}"
