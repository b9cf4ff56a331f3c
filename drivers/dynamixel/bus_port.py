"""A port as the SDK's packet handler wants it: it writes without blocking, and only opening waits for answers."""

from __future__ import annotations

import select
import time

from granite.drivers.board.port import Port

#: for an answer at opening, beside its bytes: adapters may hold bytes back for 16 ms [s]
_PATIENCE_S = 0.05
_WAIT_S = 0.002
_BITS_PER_BYTE = 10


class BusPort:
    """The port handler of the bus; names in camel case are the SDK's.

    Raises
    ------
    InputError
        Where the port can't be opened.
    OSError
        By every method, where it is gone.
    """

    def __init__(self, path: str, baud: int) -> None:
        self.is_using = False
        self._port, self._baud = Port(path, baud), baud
        self._received = b""
        self._timeout_s = 0.0
        self._deadline: float | None = None

    def receive(self) -> bytes:
        """All bytes that have arrived."""
        received, self._received = self._received + self._port.read(), b""
        return received

    def close(self) -> None:
        """Close it."""
        self._port.close()

    def clearPort(self) -> None:
        """Nothing: `receive` takes what has arrived, and a part of an answer would look like a damaged one."""

    def writePort(self, packet: list[int]) -> int:
        """Send a packet; the number of bytes that the port takes: all, or none."""
        return len(packet) if self._port.write(bytes(packet)) else 0

    def readPort(self, length: int) -> bytes:
        """At most so many bytes; waits for a moment."""
        if not self._received and select.select([self._port], [], [], _WAIT_S)[0]:
            self._received = self._port.read()
        taken, self._received = self._received[:length], self._received[length:]
        return taken

    def setPacketTimeout(self, length: int) -> None:
        """For an answer of so many bytes; the time counts from the first question, so that the loop reads no clock."""
        self._timeout_s = _PATIENCE_S + length * _BITS_PER_BYTE / self._baud
        self._deadline = None

    def isPacketTimeout(self) -> bool:
        """Whether the answer is late."""
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._timeout_s
        return now > self._deadline
