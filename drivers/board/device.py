"""A device of a testbed on a board: joint sensors, motors, thrusters or grips, as its signals say.

In a testbed's file, for every device on that board:

    driver = { kind = "board", port = "/dev/serial/by-id/...", board = "free-flyer" }

The channel of a signal has the name of its joint, thruster or contact; `channels` gives another one.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from granite.config.devices.device import Device
from granite.config.devices.momentum_wheel import MomentumWheels
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.parts import PartTable
from granite.config.records import Array, Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.drivers.board.board import Board
from granite.drivers.board.description import Channel
from granite.drivers.board.handshake import LinkOptions
from granite.drivers.board.wire import ARMED, MAX_VALVE_COUNT, VALVE_COUNT_S, VALVE_RESOLUTION_S, ChannelKind
from granite.drivers.contract import Actuator, Sensor

#: the kind of channel by the last word of a signal's name
_KINDS = {
    "angle": ChannelKind.ENCODER,
    "rate": ChannelKind.RATE,
    "torque": ChannelKind.MOTOR,
    "opening": ChannelKind.VALVE,
    "grip": ChannelKind.GRIP,
    "pressure": ChannelKind.PRESSURE,
    "gyro": ChannelKind.GYRO,
    "accelerometer": ChannelKind.ACCELEROMETER,
}
#: a valve that shall stay open gets a pulse of so many ticks in each: it stays open over a tick that is late
_HELD_TICKS = 3
#: of a scale, which a board has in single precision
_SAME_SCALE = 1e-6


class BoardDevice(Sensor, Actuator):
    """Sensor or actuator on a board that it shares with others."""

    class Options(PartTable, LinkOptions):
        """The board, and channels that have other names than the signals."""

        Link: ClassVar = Board
        #: by signal: elbow_torque = "arm_2", or elbow_torque = "motor arm_2"
        channels: dict[str, str] = Field(default_factory=dict)

    def __init__(self, options: Options, name: str, bed: Testbed, board: Board) -> None:
        device = bed.devices[name]
        assert isinstance(device, Device)
        self._is_actuator = device.role == "actuator"
        self._bounds = device.bounds(bed) if self._is_actuator else ()
        self._holds = device.holds_at_rest
        self._initial = np.array(device.initial(bed) if self._is_actuator else (), dtype=np.float64)
        own = [signal.name for signal in device.signals(bed)]
        self._signals = [f"{name}.{signal}" for signal in own]
        self._units = [signal.unit for signal in device.signals(bed)]
        for signal in options.channels:
            if signal not in own:
                raise InputError("no such signal", key=f"channels.{signal}", expected=one_of(signal, own))
        self._board = board
        self._wanted = {f"{name}.{signal}": _channel(device, signal, options.channels.get(signal)) for signal in own}
        board.has_actuators |= self._is_actuator
        self._period = bed.loop.period_s
        self._valve = device.valve if isinstance(device, Thrusters) else None
        self._last = no_frame(len(own))

    def open(self) -> None:
        """Open the board's link, and check that its channels fit this device."""
        self._board.open()
        self._fit(self._board.map(self._wanted))

    def read(self, t: float) -> Frame:
        """The newest measurement."""
        board = self._board
        status, last = board.status(t, False), self._last
        if board.number != last.number:
            self._last = Frame(board.link.sampled, board.number, status, board.values[self._columns])
        elif status != last.status:
            self._last = last._replace(status=status)
        return self._last

    def write(self, t: float, setpoint: Array) -> Frame:
        """Set what the board's next command has for this device; what the board reports as applied."""
        counts = self._pulses(setpoint) if self._is_valve else np.rint(setpoint / self._scale)
        self._board.set_counts(self._command_columns, counts)
        return self.report(t)

    def report(self, t: float) -> Frame:
        """What the board reports as applied: its answer to the command of the last tick, if that has arrived."""
        board = self._board
        status, last = board.status(t, True), self._last
        if board.report is None or not board.report.flags & ARMED:
            values = last.values if self._holds else np.zeros(len(self._signals))
            self._last = last._replace(status=status, values=values)
        elif board.number != last.number:
            self._last = Frame(board.link.sampled, board.number, status, self._applied())
        elif status != last.status:
            self._last = last._replace(status=status)
        return self._last

    def observe(self, t: float) -> Frame:
        """What the board reports, without a command that acts: nothing is armed."""
        board = self._board
        status = board.status(t, False)
        values = self._last.values if board.report is None else self._applied()
        return Frame(t, board.number, status, values)

    @property
    def identity(self) -> str:
        """The board's own description."""
        known = self._board.link.description.board
        return f"board '{known.name}', firmware {known.firmware}, {known.channels} channels"

    def stop(self, t: float) -> Frame:
        """Outputs of the whole board safe at once; the frame confirms it when the board has reported them."""
        board = self._board
        if not board.stop(t) or board.report is None:
            return self._last._replace(status=Status.SILENT)
        return Frame(board.link.sampled, board.number, Status.OK, self._applied())

    def close(self) -> None:
        """Nothing of its own: the board is closed with all its devices."""

    def _pulses(self, opening: Array) -> NDArray[np.int32]:
        """An open valve gets a pulse that outlasts the tick, a throttled one a part of the tick."""
        if not opening.any():  # most ticks
            return self._closed
        on = np.where(opening >= 1.0, _HELD_TICKS * self._period, opening * self._period)
        counts = np.clip(np.rint(on / VALVE_COUNT_S), 0, MAX_VALVE_COUNT).astype(np.uint32)
        return (counts << 16).view(np.int32)

    def _applied(self) -> Array:
        """Counts as the board reports them; of valves the part of the time between two reports that they were open."""
        board = self._board
        if not self._is_valve:
            return board.values[self._columns]
        report, before = board.report, board.before
        assert report is not None
        if before is None or report.time_us <= before.time_us:
            return self._none
        counts = report.slots[self._columns] - before.slots[self._columns]
        if not counts.any():  # most ticks
            return self._none
        open_s: Array = counts.view(np.uint32) * self._scale
        elapsed = (report.time_us - before.time_us) * 1e-6
        # Open all the time, within the resolution: a model of the valves would see every other value as a switching.
        return np.where(open_s >= elapsed - VALVE_RESOLUTION_S, 1.0, open_s / elapsed)

    def _fit(self, channels: list[Channel]) -> None:
        """Take over what its channels are, if they fit."""
        self._columns = self._board.report_columns(self._signals)
        self._scale = np.array([channel.scale for channel in channels])
        self._is_valve = bool(channels) and channels[0].kind == ChannelKind.VALVE
        for i, channel in enumerate(channels):
            if self._is_valve:
                self._refuse_unfit_valve(i, channel)
            else:
                self._refuse_unfit(i, channel)
        if self._is_actuator:
            self._command_columns = self._board.command_columns(self._signals)
            self._closed = np.zeros(len(channels), np.int32)
            self._none = np.zeros(len(channels))
            self._none.flags.writeable = False
            self._last = Frame(0.0, 0, self._board.status(0.0, True), self._initial.copy())

    def _refuse_unfit(self, i: int, channel: Channel) -> None:
        """Another unit, or a narrower range than that of the set points which the testbed allows."""
        key, unit = self._key(i), self._units[i]
        if channel.unit != unit:
            raise InputError(f"channel '{channel.label}' has unit {channel.unit}", key=key, expected=f"unit {unit}")
        low, high = self._bounds[i] if self._is_actuator else (0.0, 0.0)
        least, greatest = channel.low * channel.scale, channel.high * channel.scale
        slack = 1e-6 * (greatest - least)
        if self._is_actuator and not least - slack <= low <= high <= greatest + slack:
            problem = f"set points from {low:g} to {high:g} {unit} are allowed"
            raise InputError(problem, key=key, expected=f"within the board's {least:g} to {greatest:g}")

    def _refuse_unfit_valve(self, i: int, channel: Channel) -> None:
        """Other counts than those of the wire format, or pulses that can't be as short or as long as commanded."""
        key, name = self._key(i), f"channel '{channel.label}'"
        if channel.kind != ChannelKind.VALVE:
            raise InputError(f"{name} is no valve", key=key, expected="a valve, as for the first signal of the device")
        if self._units[i] != "1":
            raise InputError(f"{name} is a valve", key=key, expected=f"a channel of unit {self._units[i]}")
        if channel.unit != "s" or not math.isclose(channel.scale, VALVE_COUNT_S, rel_tol=_SAME_SCALE):
            problem = f"{name} has counts of {channel.scale:g} {channel.unit}"
            raise InputError(problem, key=key, expected=f"{VALVE_COUNT_S:g} s, as the times of all valves have")
        # Without a data sheet: a valve can't follow its openings if it stays open for longer than a tick.
        shortest, source = (self._valve.minimum_on_s, "valve.minimum_on_s") if self._valve else (self._period, "tick")
        # The board has whole counts: the shortest pulse is rounded up to them.
        if not 0 <= channel.low <= math.ceil(round(shortest / VALVE_COUNT_S, 6)):
            problem = f"the shortest pulse of {name} is {channel.low * VALVE_COUNT_S:g} s"
            expected = f"0 to {shortest:g} s, the testbed's {source}"
            raise InputError(problem, key=key, expected=expected)
        held = min(round(_HELD_TICKS * self._period / VALVE_COUNT_S), MAX_VALVE_COUNT)
        if channel.high < held:
            problem = f"the longest pulse of {name} is {channel.high * VALVE_COUNT_S:g} s"
            expected = f"at least {held * VALVE_COUNT_S:g} s: {_HELD_TICKS} ticks, for a valve that stays open"
            raise InputError(problem, key=key, expected=expected)

    def _key(self, i: int) -> str:
        """Where the channel of a signal is given."""
        return f"channels.{self._signals[i].partition('.')[2]}"


def channel_kind(device: Device, signal: str) -> ChannelKind | None:
    """The kind of channel that a signal of a device has by itself; None: its name does not say it."""
    if isinstance(device, MomentumWheels):
        return ChannelKind.WHEEL
    return _KINDS.get(signal.rpartition("_")[2])


def _channel(device: Device, signal: str, given: str | None) -> tuple[ChannelKind, str]:
    """Kind and name of the channel of a signal; `given` is a name, or a kind and a name."""
    stem, _, last = signal.rpartition("_")
    word, _, name = (given or stem).rpartition(" ")
    if word and word.upper() not in ChannelKind.__members__:
        expected = f"NAME or `KIND NAME`, with {', '.join(k.name.lower() for k in ChannelKind)}"
        raise InputError(key=f"channels.{signal}", value=given, expected=expected)
    kind = ChannelKind[word.upper()] if word else channel_kind(device, signal)
    if kind is None:
        raise InputError.missing(
            f"channels.{signal}", f"its channel as `KIND NAME`: a board has no {last} by that name"
        )
    return kind, name
