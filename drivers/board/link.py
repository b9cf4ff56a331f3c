"""The link to one board: one command and one report per tick, without blocking; every odd frame is counted."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from granite.config.errors import InputError
from granite.drivers.board.clock_map import ClockMap
from granite.drivers.board.description import BoardIdentity, Description
from granite.drivers.board.frame import WireFrame
from granite.drivers.board.handshake import LinkOptions, describe
from granite.drivers.board.numbered_line import LinkCounts, NumberedLine
from granite.drivers.board.report import COUNT, Report
from granite.drivers.board.wire import BOARD, REFUSAL, REPORT, RESET, VALVE_COUNT_S, FrameKind, FrameVerdict, Refusal

_REPORT = int(FrameKind.REPORT)
_NEVER = float("inf")


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
    sampled : float
        Loop time at which its sensors were sampled [s].
    refusal : Refusal or None
        The newest reason of the board, until a report follows.
    clock : ClockMap
        Board time to loop time.
    line : NumberedLine or None
        None while the port is closed or gone.
    cause : str
        Why the link is down; empty while it is up.
    """

    description: Description

    def __init__(self, options: LinkOptions, period_s: float) -> None:
        self._options, self._period_s = options, period_s
        self.line: NumberedLine | None = None
        self.counts, self.clock = LinkCounts(), ClockMap()
        self.report: Report | None = None
        self.sampled = -_NEVER
        self.refusal: Refusal | None = None
        self.cause = "not open yet"
        self._is_greeted = False
        self._sequence = 0
        #: of the lines before the present one, as `Decoder.count`
        self._verdicts = [0] * (max(FrameVerdict) + 1)
        self._retry_at = _NEVER
        self._layout = b""
        self._report_bytes = 0

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
        self.line = NumberedLine(self._options.port, self._options.baud, self.counts)
        try:
            self.description = describe(self.line, self._options, self._period_s)
        except BaseException:
            self.close()
            raise
        self._layout = self.description.board.layout.to_bytes(4, "little")
        self._report_bytes = REPORT.size + 4 * len(self.description.channels)
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
        return self._transmit(t, FrameKind.COMMAND, self._layout + counts.astype(COUNT, copy=False).tobytes())

    def reset(self, t: float) -> bool:
        """Ask the board to arm after the latch of the newest report; the next report or `refusal` answers."""
        if not self._is_greeted or self.report is None:
            return False
        watchdog_us = round(self._options.watchdog_s * 1e6)
        return self._transmit(t, FrameKind.RESET, RESET.pack(self.report.latch, watchdog_us))

    def stop(self, t: float) -> bool:
        """Tell the board to make its outputs safe now; works in every state of the link that has a port."""
        return self._transmit(t, FrameKind.STOP, b"")

    def poll(self, t: float) -> Report | None:
        """The newest report that has arrived since the last poll.

        Parameters
        ----------
        t
            Loop time [s].
        """
        line = self.line
        if line is None:
            self._reconnect(t)
            return None
        try:
            frames = line.receive()
        except OSError as error:
            self._lose(t, str(error))
            return None
        if len(frames) > 1:
            self.counts.merged += 1
        if line.decoder.is_within_frame:
            self.counts.partial += 1
        newest: Report | None = None
        for frame in frames:
            newest = self._take(t, frame) or newest
        if not self._is_greeted and t >= self._retry_at:
            self._greet(t)
        return newest

    def numbers(self) -> dict[str, float]:
        """What was counted so far, here and by the board, and the board's clock; for the log."""
        now = self.line.decoder.count if self.line is not None else [0] * len(self._verdicts)
        verdicts = [before + count for before, count in zip(self._verdicts, now, strict=True)]
        report = self.report
        return {
            **dataclasses.asdict(self.counts),
            **{verdict.name.lower(): verdicts[verdict] for verdict in FrameVerdict if verdict != FrameVerdict.ACCEPTED},
            "damaged_at_board": report.damaged if report else 0,
            "missed_at_board": report.missed if report else 0,
            "refused_at_board": report.refused if report else 0,
            "board_late_us": report.late_us if report else 0,
            "clock_offset_s": self.clock.offset_s,
            "clock_uncertainty_s": self.clock.uncertainty_s,
            "clock_drift": self.clock.drift,
            "clock_jumps": self.clock.jumps,
        }

    def close(self) -> None:
        """Close the port."""
        self._drop("closed")
        self._retry_at = _NEVER

    def _take(self, t: float, frame: WireFrame) -> Report | None:
        """Handle one whole frame of the board; the report if it is a new one."""
        line = self.line
        if line is None:  # a frame before this one ended the session
            return None
        if not self._is_greeted:
            if frame.kind == FrameKind.BOARD and len(frame.payload) == BOARD.size:
                line.heard = frame.sequence
                self._welcome(t, BoardIdentity.unpack(frame.payload))
            return None
        if frame.kind != _REPORT and _is_forgotten(frame):
            self._lose(t, "the board was restarted")
            return None
        if not line.is_next(frame.sequence):
            return None
        if frame.kind != _REPORT or len(frame.payload) != self._report_bytes:
            self._note_refusal(frame)
            return None
        report = Report.unpack(frame.payload)
        sent = line.sent_at(frame.answers)
        if sent is not None:
            self.clock.update(sent, t, report.time_us)
        # By its clock, but not before its command nor, in a tick that is late, after the time of the tick.
        self.sampled = min(max(self.clock.earliest(report.time_us), -_NEVER if sent is None else sent), t)
        if frame.answers != line.sequence:
            self.counts.late += 1
        self.counts.latches += self.report is not None and report.latch != self.report.latch
        self.report, self.refusal = report, None
        return report

    def _note_refusal(self, frame: WireFrame) -> None:
        """Take in a frame that is no report: the board's reason not to obey, or nonsense."""
        known = frame.kind == FrameKind.REFUSAL and len(frame.payload) == REFUSAL.size
        if known and frame.payload[1] in Refusal.__members__.values():
            self.counts.refused += 1
            self.refusal = Refusal(frame.payload[1])
        else:
            self.counts.unexpected += 1

    def _transmit(self, t: float, kind: FrameKind, payload: bytes) -> bool:
        if self.line is None:
            return False
        try:
            return self.line.transmit(t, kind, payload)
        except OSError as error:
            self._lose(t, str(error))
            return False

    def _lose(self, t: float, cause: str) -> None:
        """The port or the board went away: its policy decides whether `poll` looks for it again."""
        self.counts.lost += 1
        self._drop(cause)
        self._retry_at = t + self._options.retry_s if self._options.replug == "reconnect" else _NEVER

    def _drop(self, cause: str) -> None:
        if self.line is not None:
            self._sequence = self.line.sequence
            counts = zip(self._verdicts, self.line.decoder.count, strict=True)
            self._verdicts = [before + count for before, count in counts]
            self.line.port.close()
        self.line, self._is_greeted, self.cause = None, False, cause

    def _reconnect(self, t: float) -> None:
        if t < self._retry_at:
            return
        self._retry_at = t + self._options.retry_s
        try:
            self.line = NumberedLine(self._options.port, self._options.baud, self.counts, self._sequence)
        except InputError as error:
            self.cause = str(error)
            return
        self.clock = ClockMap()
        self._greet(t)

    def _greet(self, t: float) -> None:
        self._retry_at = t + self._options.retry_s
        self._transmit(t, FrameKind.HELLO, b"")

    def _welcome(self, t: float, identity: BoardIdentity) -> None:
        """Accept the board that answers on a port that was gone, if it is the same one."""
        known = self.description.board
        if (identity.name, identity.serial, identity.layout) != (known.name, known.serial, known.layout):
            self._lose(t, f"another board answers: '{identity.name}'")
            return
        self._is_greeted, self.cause, self.report = True, "", None
        self.counts.replugged += 1


def pulse(delay_s: float, on_s: float) -> int:
    """The slot of a valve: opened after `delay_s` for `on_s`, both limited to 0.65535 s."""
    delay, on = (min(max(round(x / VALVE_COUNT_S), 0), 0xFFFF) for x in (delay_s, on_s))
    slot = delay | on << 16
    return slot - (1 << 32) if slot >= 1 << 31 else slot


def _is_forgotten(frame: WireFrame) -> bool:
    """Whether the board has forgotten the session; its numbers have started again, too."""
    return frame.kind == FrameKind.REFUSAL and frame.payload[1:2] == bytes([Refusal.NO_SESSION])
