"""The link to one board: one command and one report per tick, without blocking; every odd frame is counted."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from granite.config.base import NotNegative, Positive, Table
from granite.config.errors import InputError
from granite.drivers.board.clock_map import ClockMap
from granite.drivers.board.description import BoardIdentity, Channel, Description
from granite.drivers.board.frame import Decoder, WireFrame, encode
from granite.drivers.board.port import Port
from granite.drivers.board.report import Report
from granite.drivers.board.wire import BOARD, CHANNEL, REFUSAL, REPORT, RESET, VERSION, Kind, Refusal, Verdict

#: firmware that this host was tested with
FIRMWARE = "1."
_ANSWER_S, _TRIES = 0.3, 5
_REPORT = int(Kind.REPORT)
_REMEMBERED = 256  # commands whose time of sending is kept


class LinkOptions(Table):
    """How a board is reached, and what it must be."""

    port: str
    baud: int = 2_000_000
    #: name in the board's own description
    board: str
    #: its version begins with this
    firmware: str = FIRMWARE
    #: without commands for this long, the board makes its outputs safe
    watchdog_s: Positive = 0.02
    #: a port that went away: stay without it, or open it again if the same board answers there; never armed by itself
    replug: Literal["stay_away", "reconnect"] = "stay_away"
    #: between two attempts
    retry_s: NotNegative = 0.5


@dataclass
class LinkCounts:
    """What happened on the line so far. Frames that failed a check are in `Decoder.count`."""

    sent: int = 0
    blocked: int = 0  #: commands that the port did not take
    received: int = 0
    partial: int = 0  #: polls that ended within a frame
    merged: int = 0  #: polls that had several frames
    repeated: int = 0
    reordered: int = 0
    missed: int = 0  #: frames of the board that never came
    late: int = 0  #: reports that do not answer the newest command
    unexpected: int = 0  #: whole frames that make no sense here
    refused: int = 0  #: frames that the board refused
    lost: int = 0  #: times that the port or the board went away
    replugged: int = 0


class BoardLink:
    """The link to one board.

    Parameters
    ----------
    options
        Port and expectations.
    period_s
        Of the loop: the line must carry an exchange in this time.

    Attributes
    ----------
    description : Description
        The board's own, once open.
    report : Report or None
        The newest.
    refusal : Refusal or None
        The newest reason of the board, until a report follows.
    cause : str
        Why the link is down; empty while it is up.
    """

    description: Description

    def __init__(self, options: LinkOptions, period_s: float) -> None:
        self._options, self._period_s = options, period_s
        self._port: Port | None = None
        self._is_greeted = False
        self._sequence = 0
        self._heard: int | None = None
        self._sent_at = [(-1, 0.0)] * _REMEMBERED
        self._retry_at = 0.0
        self._layout = b""
        self._report_bytes = 0
        self.decoder, self.counts, self.clock = Decoder(), LinkCounts(), ClockMap()
        self.report: Report | None = None
        self.refusal: Refusal | None = None
        self.cause = "not open yet"

    @property
    def is_up(self) -> bool:
        """The port is open and the right board has answered."""
        return self._is_greeted

    def open(self) -> None:
        """Open the port and check the board; blocks until it has described itself.

        Raises
        ------
        InputError
            Where port, board, firmware or rate is wrong.
        """
        self._port = Port(self._options.port, self._options.baud)
        try:
            identity = BoardIdentity.unpack(self._ask(Kind.HELLO, b"", Kind.BOARD, BOARD.size))
            self._refuse_wrong(identity)
            channels = [
                Channel.unpack(self._ask(Kind.DESCRIBE, bytes([i]), Kind.CHANNEL, CHANNEL.size))
                for i in range(identity.channels)
            ]
            self.description = Description(identity, tuple(channels))
            self.description.refuse_slow_line(self._options.baud, self._period_s)
        except BaseException:
            self.close()
            raise
        self._layout = identity.layout.to_bytes(4, "little")
        self._report_bytes = REPORT.size + 4 * len(channels)
        self._is_greeted, self.cause = True, ""

    def command(self, t: float, counts: NDArray[np.int32]) -> bool:
        """Send a set point for each actuator channel, in their order; False if it did not go out.

        Parameters
        ----------
        t
            Loop time [s].
        counts
            One slot for each of `description.actuators`; of valves `pulse`.
        """
        if not self._is_greeted:
            return False
        return self._transmit(t, Kind.COMMAND, self._layout + counts.astype("<i4", copy=False).tobytes())

    def reset(self, t: float) -> bool:
        """Ask the board to arm after the latch of the newest report; the next report or `refusal` answers."""
        if not self._is_greeted or self.report is None:
            return False
        watchdog_us = round(self._options.watchdog_s * 1e6)
        return self._transmit(t, Kind.RESET, RESET.pack(self.report.latch, watchdog_us))

    def stop(self, t: float) -> bool:
        """Tell the board to make its outputs safe now; works in every state of the link that has a port."""
        return self._port is not None and self._transmit(t, Kind.STOP, b"")

    def poll(self, t: float) -> Report | None:
        """The newest report that has arrived since the last poll.

        Parameters
        ----------
        t
            Loop time [s].
        """
        if self._port is None:
            self._reconnect(t)
            return None
        frames = self._receive(t)
        if len(frames) > 1:
            self.counts.merged += 1
        if self.decoder.is_within_frame:
            self.counts.partial += 1
        newest: Report | None = None
        for frame in frames:
            newest = self._take(t, frame) or newest
        if not self._is_greeted and self._port is not None and t >= self._retry_at:
            self._greet(t)
        return newest

    def close(self) -> None:
        """Close the port."""
        if self._port is not None:
            self._port.close()
        self._port, self._is_greeted, self.cause = None, False, "closed"
        self._retry_at = float("inf")

    def _take(self, t: float, frame: WireFrame) -> Report | None:
        """Handle one whole frame of the board; the report if it is a new one."""
        if not self._is_greeted:
            if frame.kind == Kind.BOARD and len(frame.payload) == BOARD.size:
                self._welcome(t, BoardIdentity.unpack(frame.payload))
                self._heard = frame.sequence
            return None
        if frame.kind != _REPORT and self._is_restarted(frame):
            self._lose(t, "the board was restarted")
            return None
        if not self._is_next(frame.sequence):
            return None
        if frame.kind != _REPORT or len(frame.payload) != self._report_bytes:
            self._note_refusal(frame)
            return None
        report = Report.unpack(frame.payload)
        sequence, sent = self._sent_at[frame.answers % _REMEMBERED]
        if sequence == frame.answers:
            self.clock.update(sent, t, report.time_us)
        if frame.answers != self._sequence:
            self.counts.late += 1
        self.report, self.refusal = report, None
        return report

    def _is_restarted(self, frame: WireFrame) -> bool:
        """Whether the board has forgotten the session; its numbers have started again, too."""
        return frame.kind == Kind.REFUSAL and frame.payload[1:2] == bytes([Refusal.NO_SESSION])

    def _note_refusal(self, frame: WireFrame) -> None:
        """Take in a frame that is no report: the board's reason not to obey, or nonsense."""
        known = frame.kind == Kind.REFUSAL and len(frame.payload) == REFUSAL.size
        if known and frame.payload[1] in Refusal.__members__.values():
            self.counts.refused += 1
            self.refusal = Refusal(frame.payload[1])
        else:
            self.counts.unexpected += 1

    def _is_next(self, sequence: int) -> bool:
        """Whether a frame is newer than all before it; counts it otherwise, and those that it skips."""
        ahead = 1 if self._heard is None else (sequence - self._heard) & 0xFFFF
        if ahead == 0:
            self.counts.repeated += 1
            return False
        if ahead > 0x7FFF:
            self.counts.reordered += 1
            return False
        self.counts.missed += ahead - 1
        self._heard = sequence
        return True

    def _transmit(self, t: float, kind: Kind, payload: bytes) -> bool:
        assert self._port is not None
        sequence = (self._sequence + 1) & 0xFFFF
        try:
            went = self._port.write(encode(kind, sequence, self._heard or 0, payload))
        except OSError as error:
            self._lose(t, str(error))
            return False
        if not went:
            self.counts.blocked += 1
            return False
        self._sequence = sequence
        self._sent_at[sequence % _REMEMBERED] = (sequence, t)
        self.counts.sent += 1
        return True

    def _receive(self, t: float) -> list[WireFrame]:
        assert self._port is not None
        try:
            frames = self.decoder.feed(self._port.read())
        except OSError as error:
            self._lose(t, str(error))
            return []
        self.counts.received += len(frames)
        return frames

    def _lose(self, t: float, cause: str) -> None:
        """The port or the board went away: its policy decides whether `poll` looks for it again."""
        self.counts.lost += 1
        if self._port is not None:
            self._port.close()
        self._port, self._is_greeted, self.cause = None, False, cause
        self._retry_at = t + self._options.retry_s if self._options.replug == "reconnect" else float("inf")

    def _reconnect(self, t: float) -> None:
        if t < self._retry_at:
            return
        self._retry_at = t + self._options.retry_s
        try:
            self._port = Port(self._options.port, self._options.baud)
        except InputError as error:
            self.cause = str(error)
            return
        self.decoder, self.clock = Decoder(), ClockMap()
        self._greet(t)

    def _greet(self, t: float) -> None:
        self._retry_at = t + self._options.retry_s
        self._transmit(t, Kind.HELLO, b"")

    def _welcome(self, t: float, identity: BoardIdentity) -> None:
        """Accept the board that answers on a port that was gone, if it is the same one."""
        known = self.description.board
        if (identity.name, identity.serial, identity.layout) != (known.name, known.serial, known.layout):
            self._lose(t, f"another board answers: '{identity.name}'")
            return
        self._is_greeted, self.cause, self.report = True, "", None
        self.counts.replugged += 1

    def _ask(self, kind: Kind, payload: bytes, answer: Kind, size: int) -> bytes:
        """Send a frame and wait for its answer, several times; outside the loop."""
        assert self._port is not None
        for _ in range(_TRIES):
            if not self._transmit(0.0, kind, payload):
                raise InputError("it does not take any bytes", key="port", value=self._options.port)
            deadline = time.monotonic() + _ANSWER_S
            while (left := deadline - time.monotonic()) > 0:
                if not select.select([self._port], [], [], left)[0]:
                    break
                for frame in self._receive(0.0):
                    if frame.answers == self._sequence and frame.kind == answer and len(frame.payload) == size:
                        self._heard = frame.sequence
                        return frame.payload
                if self._port is None:
                    raise InputError(f"the port went away: {self.cause}", key="port", value=self._options.port)
        raise self._no_answer()

    def _no_answer(self) -> InputError:
        """Why there was no answer, as far as the received bytes tell."""
        port, count = self._options.port, self.decoder.count
        if count[Verdict.BAD_VERSION]:
            problem = f"the board there speaks wire version {self.decoder.version}"
            return InputError(problem, key="port", value=port, expected=f"firmware of wire version {VERSION}")
        if any(count) or self.decoder.is_within_frame:
            problem = "something answers there, but no frame of it is whole"
            return InputError(problem, key="port", value=port, expected=f"a board at {self._options.baud} baud")
        problem = f"nothing answers there at {self._options.baud} baud"
        return InputError(problem, key="port", value=port, expected=f"board '{self._options.board}'")

    def _refuse_wrong(self, identity: BoardIdentity) -> None:
        options = self._options
        if identity.name != options.board:
            problem = f"board '{identity.name}' answers on {options.port}"
            raise InputError(problem, key="board", value=options.board, expected="the board of this name there")
        if not identity.firmware.startswith(options.firmware):
            problem = f"board '{identity.name}' has firmware {identity.firmware}"
            raise InputError(problem, key="firmware", value=options.firmware, expected="a board with this version")
        least, greatest = (us * 1e-6 for us in (identity.watchdog_least_us, identity.watchdog_greatest_us))
        least = max(least, 2 * self._period_s)
        if not least <= options.watchdog_s <= greatest:
            expected = f"{least:g} (two ticks, or the board's limit) to {greatest:g}"
            raise InputError(key="watchdog_s", value=options.watchdog_s, expected=expected)


def pulse(delay_s: float, on_s: float) -> int:
    """The slot of a valve: opened after `delay_s` for `on_s`, both limited to 0.65535 s."""
    delay, on = (min(max(round(x * 1e5), 0), 0xFFFF) for x in (delay_s, on_s))
    slot = delay | on << 16
    return slot - (1 << 32) if slot >= 1 << 31 else slot
