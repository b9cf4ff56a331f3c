"""A board's description of itself, and the channels of it that devices use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from granite.config.errors import InputError, one_of
from granite.drivers.board.wire import BOARD, CHANNEL, CRC, HEADER, MAX_ENCODED, MAX_FRAME, REPORT, ChannelKind

_BITS_PER_BYTE = 10  # start, eight, stop
#: rates that serial ports have
_RATES = (115_200, 230_400, 460_800, 921_600, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 4_000_000, 8_000_000)


class Channel(NamedTuple):
    """One input or output of a board. The physical value is count x scale."""

    position: int  #: its slot in reports
    kind: int  #: a code of `ChannelKind`
    name: str
    unit: str
    scale: float
    low: int  #: least count; of valves the shortest pulse
    high: int  #: greatest count; of valves the longest pulse

    @property
    def is_actuator(self) -> bool:
        """Whether it has a slot in commands."""
        return self.kind < ChannelKind.ENCODER

    @property
    def label(self) -> str:
        """FrameKind and name, as an operator would say it."""
        known = self.kind in ChannelKind.__members__.values()
        return f"{ChannelKind(self.kind).name.lower() if known else f'kind {self.kind}'} {self.name}"

    @classmethod
    def unpack(cls, payload: bytes) -> Channel:
        """From the payload of a `CHANNEL` frame."""
        position, kind, name, unit, scale, low, high = CHANNEL.unpack(payload)
        return cls(position, kind, _text(name), _text(unit), scale, low, high)


class BoardIdentity(NamedTuple):
    """The payload of a `BOARD` frame."""

    name: str
    firmware: str
    serial: bytes
    channels: int
    layout: int  #: CRC-32 of name and channels
    watchdog_us: int
    watchdog_least_us: int
    watchdog_greatest_us: int
    time_us: int

    @classmethod
    def unpack(cls, payload: bytes) -> BoardIdentity:
        """From the payload of a `BOARD` frame."""
        name, firmware, *rest = BOARD.unpack(payload)
        return cls(_text(name), _text(firmware), *rest)


class Description(NamedTuple):
    """A board and its channels."""

    board: BoardIdentity
    channels: tuple[Channel, ...]

    @property
    def actuators(self) -> tuple[Channel, ...]:
        """Those with a slot in commands, in its order."""
        return tuple(channel for channel in self.channels if channel.is_actuator)

    @property
    def exchange_bytes(self) -> int:
        """Bytes of a command and its report on the line."""
        overhead = HEADER.size + CRC.size + 2 + MAX_ENCODED - MAX_FRAME
        return 2 * overhead + 4 + 4 * len(self.actuators) + REPORT.size + 4 * len(self.channels)

    def channel(self, kind: ChannelKind, name: str) -> Channel:
        """The channel of that kind and name.

        Raises
        ------
        InputError
            Where the board has none: another board, or another wiring.
        """
        own = {channel.name: channel for channel in self.channels if channel.kind == kind}
        word = kind.name.lower()
        if not own:
            others = dict.fromkeys(channel.label.rpartition(" ")[0] for channel in self.channels)
            problem = f"board '{self.board.name}' has no channel of kind {word}, only of {', '.join(others)}"
            expected = f"a board with the channel `{word} {name}`, or another `KIND NAME` in `channels`"
            raise InputError(problem, key="channels", value=name, expected=expected)
        if name not in own:
            problem = f"board '{self.board.name}' has no {word} of this name"
            raise InputError(problem, key="channels", value=name, expected=one_of(name, own))
        return own[name]

    def map(
        self, wanted: Mapping[str, tuple[ChannelKind, str]], used: Mapping[str, Channel] = MappingProxyType({})
    ) -> dict[str, Channel]:
        """The channel of each signal of a device.

        Parameters
        ----------
        wanted
            FrameKind and name of the channel, by signal: `elbow_torque`, or `motors.elbow_torque` with its device.
        used
            Channels that signals of other devices have.

        Raises
        ------
        InputError
            Where the board has no such channel, or two signals use one.
        """
        channels: dict[str, Channel] = {}
        users = {channel.position: signal for signal, channel in used.items()}
        for signal, (kind, name) in wanted.items():
            channel = self.channel(kind, name)
            if channel.position in users:
                problem = f"channel '{channel.label}' is mapped twice, by {users[channel.position]} and {signal}"
                key = f"channels.{signal.rpartition('.')[2]}"
                raise InputError(problem, key=key, value=name, expected="one signal for each channel")
            users[channel.position] = signal
            channels[signal] = channel
        return channels

    def refuse_unusable(self) -> None:
        """Raise an `InputError` where a channel has no usable scale or range: devices compute with them."""
        for channel in self.channels:
            problem = expected = ""
            if not math.isfinite(channel.scale) or channel.scale == 0.0:
                problem, expected = f"scale {channel.scale:g}", "a finite number that is not zero"
            elif channel.low > channel.high:
                problem, expected = f"counts from {channel.low} to {channel.high}", "the least count first"
            if problem:
                text = f"its channel '{channel.label}' has {problem}"
                raise InputError(text, key="board", value=self.board.name, expected=expected)

    def refuse_slow_line(self, baud: int, period_s: float) -> None:
        """Raise an `InputError` where one exchange takes longer than the tick."""
        bits = self.exchange_bytes * _BITS_PER_BYTE
        if bits / baud <= period_s:
            return
        enough = next((rate for rate in _RATES if bits / rate <= period_s), None)
        problem = (
            f"too slow: an exchange of {self.exchange_bytes} bytes takes {bits / baud * 1e3:.3g} ms, "
            f"the tick {period_s * 1e3:g} ms"
        )
        expected = f"at least {enough}" if enough else f"a longer tick: no port has {bits / period_s:.3g} baud"
        raise InputError(problem, key="baud", value=baud, expected=expected)


def _text(padded: bytes) -> str:
    return padded.partition(b"\0")[0].decode("ascii", "replace")
