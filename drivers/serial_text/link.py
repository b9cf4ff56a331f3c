"""A serial port with lines of numbers, shared by its devices.

    [LABEL] NUMBER NUMBER ... [*HH]

Numbers are separated by blanks, tabs, commas or semicolons. Devices on one port have different labels; a device that is
alone needs none. HH is the exclusive or of all bytes before the star, as in NMEA 0183. A sensor sends lines whenever it
has measured. An actuator gets one line per tick, and answers each with a line of the applied values; `!` in place of
the numbers reports a fault.
"""

from __future__ import annotations

import dataclasses
import math
import re
import select
import time
from collections import deque
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from operator import xor

from granite.config.base import Positive
from granite.config.errors import InputError
from granite.config.records import Status
from granite.drivers.board.port import Baud, Port
from granite.drivers.link_history import LinkHistory
from granite.drivers.shared_link import LinkTable, PortCounts, PortLink

#: longer ones are noise [bytes]
_LONGEST = 512
#: reads of 4096 bytes at one tick: a flood must not hold it
_MOST_READS = 8
#: newest lines with set points, one of which an answer belongs to
_KEPT = 64
#: answers that may be on their way when a stop is sent
_MOST_OUTSTANDING = 8
_ASK_EVERY_S = 0.05
_SEPARATORS = re.compile(rb"[ \t,;]+")
#: `float` reads more than a program prints: 1_000, infinity, digits of other alphabets
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[nN][aA][nN]")
FAULT = b"!"


class TextLinkOptions(LinkTable):
    """Keys that all devices on a port have in common."""

    baud: Baud = 115_200  #: bits a second
    #: after so long without an answer an actuator is silent; the device must stop by itself after this time
    watchdog_s: Positive = 0.1
    #: only lines with a check sum are used, and sent
    check_sum: bool = False
    #: for the first line: boards that restart when their port is opened take some seconds
    patience_s: Positive = 3.0


@dataclass
class LineCounts(PortCounts):
    """What happened on the port so far."""

    malformed: int = 0  #: another number of values, no numbers, a wrong check sum, or too long
    unknown: int = 0  #: with a label that no device has
    faults: int = 0  #: reported by actuators
    #: lines of a sensor whose clock says that they took longer than others, and answers to a line before the newest
    late: int = 0


@dataclass
class TextChannel:
    """The lines of one device."""

    label: str
    size: int  #: numbers in a line
    rest: tuple[float, ...] | None = None  #: actuators: what makes them safe; None for a sensor
    holds: bool = False  #: actuators: they stay as they are where others become safe
    setpoint: list[float] | None = None  #: what is sent next
    numbers: tuple[float, ...] | None = None  #: of the newest line
    count: int = 0  #: lines so far
    #: when the newest line was read, of an actuator when the line that it answers was sent [s]
    received_at: float = -math.inf
    #: actuators: newest lines, as they were sent, and when [s]
    sent: deque[tuple[float, tuple[float, ...]]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    has_fault: bool = False
    outstanding: int = 0  #: answers to come
    answers: int = 0  #: to lines since the first stop


class TextLink(PortLink[Port]):
    """A port during a run."""

    Options = TextLinkOptions

    def __init__(self, options: TextLinkOptions, period_s: float) -> None:
        super().__init__(options.port, options.watchdog_s, period_s)
        self._options = options
        self._rest = b""
        self._skips = True
        self.channels: dict[str, TextChannel] = {}
        self.counts: LineCounts = LineCounts()
        self.history = LinkHistory(f"serial text {options.port}", lambda: dataclasses.asdict(self.counts))
        self._last_line = b""

    def add(self, channel: TextChannel) -> None:
        """Register the lines of a device.

        Raises
        ------
        InputError
            Where another device has the same label.
        """
        if channel.label in self.channels:
            problem = "another device on this port has the same label"
            raise InputError(problem, key="label", value=channel.label, expected="another one for each device")
        self.channels[channel.label] = channel
        self.has_actuators |= channel.rest is not None

    def status(self, t: float, channel: TextChannel) -> int:
        """Status of an actuator; of a sensor only whether the port is there, because its lines may be rare."""
        if self._port is None:
            return Status.SILENT
        if channel.has_fault:
            return Status.BROKEN
        # An answer is taken in a tick after its line was sent.
        if channel.rest is None or t - channel.received_at <= self._silent_s + self._period_s:
            return Status.OK
        return Status.NO_FRAME if self._is_new(t) else Status.SILENT

    def send(self, t: float) -> None:
        """Send the set points of all actuators."""
        if self._stopped is None:
            self._send(t, [channel for channel in self._actuators() if channel.setpoint is not None])

    def ask(self, t: float) -> None:
        """Send what makes the actuators safe."""
        self._rest_all()
        self.send(t)

    def stop(self, t: float) -> bool:
        """Send what makes the actuators safe; whether every one has answered with it.

        Answers to lines before the stop may still come: so many do not count.
        """
        with self._stopping:
            self._take(t)
            if self._stopped is None:
                self._stopped = self.counts.sent
                for channel in self._actuators():
                    channel.answers = -min(channel.outstanding, _MOST_OUTSTANDING)
            self._rest_all()
            self._send(t, self._actuators())
            return self._port is not None and all(
                channel.answers > 0 and channel.numbers == tuple(channel.setpoint or ())
                for channel in self._actuators()
            )

    def _open_port(self) -> Port:
        return Port(self._options.port, self._options.baud)

    def _prepare(self, port: Port) -> None:
        """Wait for a line of every device."""
        self._rest, self._skips = b"", True
        for channel in self.channels.values():
            channel.numbers, channel.count, channel.has_fault, channel.outstanding = None, 0, False, 0
            channel.sent.clear()
        begin = time.monotonic()
        asked_at = -math.inf
        while missing := [c for c in self.channels.values() if not c.count and not c.holds]:
            now = time.monotonic()
            if now - begin > self._options.patience_s:
                raise self._no_line(missing[0])
            if now - asked_at >= _ASK_EVERY_S:
                asked_at = now
                self._rest_all()
                self._send(-math.inf, [c for c in self._actuators() if not c.holds])
            if select.select([port], [], [], _ASK_EVERY_S)[0]:
                self._read(-math.inf)
            if self._port is None:
                raise OSError("it hung up")

    def _no_line(self, channel: TextChannel) -> InputError:
        wanted = f"lines of {channel.size} number{'s' if channel.size > 1 else ''}"
        if channel.label:
            wanted += f" after '{channel.label}'"
        if channel.rest is not None:
            wanted += " as the answer to each line with set points"
        problem = "nothing is received"
        if self._last_line:
            problem = f"it sends '{self._last_line[:40].decode('ascii', 'backslashreplace')}'"
        return InputError(problem, key="port", value=self._options.port, expected=wanted)

    def _disconnect(self) -> None:
        """Make the actuators safe once more."""
        if self._port is not None:
            self._rest_all()
            self._send(-math.inf, self._actuators())
            self._drop()

    def _take(self, t: float) -> None:
        for _ in range(_MOST_READS):
            if not self._read(t):
                return

    def _read(self, t: float) -> bool:
        """Take in what has arrived; whether there may be more."""
        if self._port is None:
            return False
        try:
            received = self._port.read()
        except OSError:
            self._lose()
            return False
        *lines, self._rest = (self._rest + received).split(b"\n")
        for line in lines:
            if self._skips:  # the first one may lack its beginning
                self._skips = False
            else:
                self._note(t, line.strip(b" \t\r\0"))
        if len(self._rest) > _LONGEST:
            self.counts.malformed += 1
            self._rest, self._skips = b"", True
        return bool(received)

    def _note(self, t: float, line: bytes) -> None:
        counts = self.counts
        if not line:
            return
        self._last_line = line
        words = words_of(line, self._options.check_sum)
        if words is None:
            counts.malformed += 1
            return
        label = "" if is_number(words[0]) or words[0] == FAULT else words.pop(0).decode("ascii", "replace")
        channel = self.channels.get(label)
        if channel is None:
            counts.unknown += 1
            return
        is_answer = channel.rest is not None
        if is_answer and words == [FAULT]:
            counts.faults += 1
            channel.has_fault, channel.received_at = True, t
            channel.outstanding = max(channel.outstanding - 1, 0)
            return
        if len(words) != channel.size or not all(map(is_number, words)):
            counts.malformed += 1
            return
        channel.numbers, channel.received_at, channel.has_fault = tuple(map(float, words)), t, False
        channel.count += 1
        counts.received += 1
        if is_answer:
            self._note_age(channel)
            channel.outstanding = max(channel.outstanding - 1, 0)
            channel.answers += 1

    def _note_age(self, channel: TextChannel) -> None:
        """An answer with the values of a line that waits for one belongs to the newest such line; others are new."""
        waiting = islice(reversed(channel.sent), channel.outstanding)
        for lines_later, (sent_at, setpoint) in enumerate(waiting):
            if setpoint == channel.numbers:
                channel.received_at = sent_at
                self.counts.late += lines_later > 0
                return

    def _actuators(self) -> list[TextChannel]:
        return [channel for channel in self.channels.values() if channel.rest is not None]

    def _rest_all(self) -> None:
        for channel in self._actuators():
            if not channel.holds or channel.setpoint is None:
                channel.setpoint = list(channel.rest or ())

    def _send(self, t: float, channels: list[TextChannel]) -> None:
        lines = b"".join(self._line(channel) for channel in channels)
        if self._port is None or not lines:
            return
        try:
            if not self._port.write(lines):
                self.counts.blocked += 1
                return
        except OSError:
            self._lose()
            return
        self.counts.sent += 1
        for channel in channels:
            channel.outstanding += 1
            channel.sent.append((t, tuple(channel.setpoint or ())))

    def _line(self, channel: TextChannel) -> bytes:
        words = [channel.label] if channel.label else []
        line = " ".join(words + [f"{value:.9g}" for value in channel.setpoint or ()]).encode()
        return (line + b"*%02X" % check_sum(line) if self._options.check_sum else line) + b"\n"


def check_sum(line: bytes) -> int:
    """Exclusive or of all bytes."""
    return reduce(xor, line, 0)


def words_of(line: bytes, needs_check_sum: bool = False) -> list[bytes] | None:
    """The words of a line; None where its check sum is wrong or missing, or it has none."""
    text, star, digits = line.partition(b"*")
    is_right = re.fullmatch(rb"[0-9A-Fa-f]{2}", digits) and int(digits, 16) == check_sum(text)
    if (star or needs_check_sum) and not is_right:
        return None
    words = [word for word in _SEPARATORS.split(text) if word]
    return words or None


def is_number(word: bytes) -> bool:
    """Whether a word is a decimal number, or NaN, which the guard names."""
    return _NUMBER.fullmatch(word) is not None
