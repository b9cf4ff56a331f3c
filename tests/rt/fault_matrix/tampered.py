"""A line and a stream between the plant's side and the drivers, whose frames can be changed on their way."""

from __future__ import annotations

import contextlib
import math
import os
import pty
import select
import socket
import threading
import time
import tty
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from granite.drivers.board.frame import Decoder, WireFrame, encode
from granite.drivers.board.report import Report
from granite.drivers.board.wire import REPORT, VERSION, FrameKind
from granite.drivers.pose_stream.message import PoseMessage
from tests.rt.fault_matrix.injections import OfLine, OfStream

_JUMP_US = 1_000_000
_DELAY_S = 0.7
#: beyond every range of a channel
_GREATEST = 2**31 - 1


#: of the threads here: between the boards and the plant
_PRIORITY = 70


def _be_prompt() -> None:
    """A line is not slower because the machine is busy."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))


class TamperedLine:
    """Passes frames of a board on to its driver, and bytes of the driver to the board.

    Parameters
    ----------
    port
        Of the board.
    positions
        Channels whose values `report` changes.

    Attributes
    ----------
    path : str
        The port for the driver.
    """

    def __init__(self, port: str, positions: Sequence[int]) -> None:
        self._board = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self._ours, self._driver = pty.openpty()
        tty.setraw(self._driver)
        self.path = os.ttyname(self._driver)
        self.tampering: OfLine | None = None
        self._positions, self._decoder, self._is_over = list(positions), Decoder(), False
        self._thread = threading.Thread(target=self._pass_on)
        self._thread.start()

    def close(self) -> None:
        self._is_over = True
        self._thread.join(10)

    def _pass_on(self) -> None:
        _be_prompt()
        with contextlib.suppress(OSError):  # the board is gone, and so is its line
            while not self._is_over and self.tampering != "cut":
                for source in select.select([self._board, self._ours], [], [], 0.01)[0]:
                    received = os.read(source, 4096)
                    if source == self._ours and self.tampering not in ("lost", "deaf"):
                        os.write(self._board, received)
                    if source == self._board:
                        for frame in self._decoder.feed(received):
                            os.write(self._ours, self._changed(frame))
        for descriptor in (self._ours, self._driver, self._board):
            os.close(descriptor)

    def _changed(self, frame: WireFrame) -> bytes:
        what, (kind, sequence, answers, payload) = self.tampering, frame
        if what == "lost":
            return b""
        if what == "damaged":
            encoded = encode(*frame)
            middle = len(encoded) // 2
            return encoded[:middle] + bytes([encoded[middle] ^ 0x55 or 0x55]) + encoded[middle + 1 :]
        if what == "other_version":
            return encode(*frame, version=VERSION + 1)
        if what == "repeated":
            return 2 * encode(*frame)
        sequence += {"gap": 500, "old_numbers": -500}.get(what or "", 0)
        if kind == FrameKind.REPORT and what in ("time_back", "time_ahead", "report"):
            report = Report.unpack(payload)
            slots = report.slots.copy()
            if what == "report":
                slots[self._positions] = _GREATEST
            jump = {"time_back": -_JUMP_US, "time_ahead": _JUMP_US}.get(what, 0)
            payload = REPORT.pack(report.time_us + jump, *report[1:-1]) + slots.astype("<i4").tobytes()
        return encode(kind, sequence & 0xFFFF, answers, payload)


class TamperedStream:
    """Passes poses on from one UDP port of this computer to another.

    Parameters
    ----------
    heard
        Port to which the poses are sent.

    Attributes
    ----------
    port : int
        Where the driver shall listen.
    """

    def __init__(self, heard: int) -> None:
        self._in = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._in.bind(("127.0.0.1", heard))
        self._in.settimeout(0.01)
        self._out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.tampering: OfStream | None = None
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._is_over = False
        self._thread = threading.Thread(target=self._pass_on)
        self._thread.start()

    def close(self) -> None:
        self._is_over = True
        self._thread.join(10)
        self._in.close()
        self._out.close()

    def _pass_on(self) -> None:
        _be_prompt()
        while not self._is_over:
            with contextlib.suppress(TimeoutError):
                due = time.monotonic() + (_DELAY_S if self.tampering == "delayed" else 0.0)
                self._waiting += [(due, message) for message in self._changed(self._in.recv(4096))]
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                self._out.sendto(self._waiting.popleft()[1], ("127.0.0.1", self.port))

    def _changed(self, received: bytes) -> list[bytes]:
        what, pose = self.tampering, PoseMessage.unpack(received)
        if what is None or what == "delayed" or pose is None:
            return [received]
        if what == "lost":
            return []
        if what == "damaged":
            return [received[:-1]]
        if what == "other_version":
            return [received[:4] + b"\x07" + received[5:]]
        jump = {"time_back": -1.0, "time_ahead": 1.0}.get(what, 0.0)
        pose = pose._replace(exposed=pose.exposed + jump, sent=pose.sent + jump)
        pose = pose._replace(number=max(pose.number + {"gap": 500, "old_numbers": -500}.get(what, 0), 0))
        if what == "not_finite":
            pose = pose._replace(position=(math.nan,) * 3)
        elif what == "untracked":
            pose = pose._replace(is_tracked=False)
        elif what == "other_body":
            pose = pose._replace(body="somebody")
        return [pose.pack()] * (2 if what == "repeated" else 1)


@contextlib.contextmanager
def tampered_line(port: str, positions: Sequence[int]) -> Iterator[TamperedLine]:
    line = TamperedLine(str(Path(port).resolve()), positions)
    try:
        yield line
    finally:
        line.close()


@contextlib.contextmanager
def tampered_stream(port: int) -> Iterator[TamperedStream]:
    stream = TamperedStream(port)
    try:
        yield stream
    finally:
        stream.close()
