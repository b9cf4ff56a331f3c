"""Numbered frames on a port: every frame sent has the next number, and of those received only newer ones pass."""

from __future__ import annotations

from dataclasses import dataclass

from granite.drivers.board.frame import WireFrame
from granite.drivers.board.frame_kernel import frame_coding
from granite.drivers.board.port import Port

_REMEMBERED = 256  # frames whose time of sending is kept


@dataclass
class LinkCounts:
    """What happened on the line so far. Frames that failed a check are in `Decoder.count`."""

    sent: int = 0
    blocked: int = 0  #: frames that the port did not take
    received: int = 0
    partial: int = 0  #: polls that ended within a frame
    merged: int = 0  #: polls that had several frames
    repeated: int = 0
    reordered: int = 0
    missed: int = 0  #: frames of the board that never came
    late: int = 0  #: reports that do not answer the newest frame
    unexpected: int = 0  #: whole frames that make no sense here
    refused: int = 0  #: frames that the board refused
    lost: int = 0  #: times that the port or the board went away
    replugged: int = 0
    latches: int = 0  #: times that the board made its outputs safe


class NumberedLine:
    """One port, from its opening until it is gone.

    Attributes
    ----------
    sequence : int
        Number of the frame sent last.
    heard : int or None
        Number of the newest frame received.
    """

    def __init__(self, path: str, baud: int, counts: LinkCounts, sequence: int = 0) -> None:
        self.port = Port(path, baud)
        self._encode, self.decoder = frame_coding()
        self.counts = counts
        self.sequence = sequence
        self.heard: int | None = None
        self._sent_at = [(-1, 0.0)] * _REMEMBERED

    def transmit(self, t: float, kind: int, payload: bytes = b"") -> bool:
        """Send a frame; False if the port does not take it, OSError if it is gone."""
        sequence = (self.sequence + 1) & 0xFFFF
        if not self.port.write(self._encode(kind, sequence, self.heard or 0, payload)):
            self.counts.blocked += 1
            return False
        self.sequence = sequence
        self._sent_at[sequence % _REMEMBERED] = (sequence, t)
        self.counts.sent += 1
        return True

    def receive(self) -> list[WireFrame]:
        """The whole frames that have arrived; OSError if the port is gone."""
        frames = self.decoder.feed(self.port.read())
        self.counts.received += len(frames)
        return frames

    def is_next(self, sequence: int) -> bool:
        """Whether a frame is newer than all before it; counts it otherwise, and those that it skips."""
        ahead = 1 if self.heard is None else (sequence - self.heard) & 0xFFFF
        if ahead == 0:
            self.counts.repeated += 1
            return False
        if ahead > 0x7FFF:
            self.counts.reordered += 1
            return False
        self.counts.missed += ahead - 1
        self.heard = sequence
        return True

    def sent_at(self, sequence: int) -> float | None:
        """When the frame of this number was sent; None if that is too long ago."""
        number, t = self._sent_at[sequence % _REMEMBERED]
        return t if number == sequence else None
