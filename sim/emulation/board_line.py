"""The outside of one emulated board, as its program has it on a socket: sensors in, outputs out."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite.drivers.board.frame_kernel import frame_coding
from granite.drivers.board.wire import ChannelKind, FrameKind
from granite.sim.emulation.wiring import WiredBoard

_READ_BYTES = 65536
_TIME = struct.Struct("<Q")


class OutputChange(NamedTuple):
    """New outputs of a board."""

    board_us: int  #: board time of the change, which is the computer's monotonic clock [us]
    counts: NDArray[np.int32]  #: of each actuator channel


class BoardLine:
    """The connection to the program of a board.

    Attributes
    ----------
    emergency_stop : bool
        The board's input, sent with the sensors.
    acting : numpy.ndarray
        Which outputs are at zero when the board is safe: grips stay as they are.
    """

    def __init__(self, board: WiredBoard, path: str) -> None:
        self.board = board
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)
        self._socket.setblocking(False)
        self._encode, self._decoder = frame_coding()
        self._sequence = 0
        self.emergency_stop = False
        outputs = [wire.kind for device in board.devices if device.is_actuator for wire in device.wires]
        self.acting = np.array([kind != ChannelKind.GRIP for kind in outputs], bool)

    def fileno(self) -> int:
        """The descriptor, for `select`."""
        return self._socket.fileno()

    def send(self, sensors: list[NDArray[np.int32]]) -> None:
        """Give the sensors of the board their counts, in the order of its devices; OSError if the board is gone."""
        self._sequence = (self._sequence + 1) & 0xFFFF
        counts = b"".join(each.astype("<i4", copy=False).tobytes() for each in sensors)
        head = bytes([self.emergency_stop, 0, 0, 0])
        try:
            self._socket.send(self._encode(FrameKind.WORLD_INPUTS, self._sequence, 0, head + counts))
        except BlockingIOError:  # a board that is suspended reads nothing; it gets the next ones
            return

    def receive(self) -> list[OutputChange]:
        """The changes that have arrived; OSError if the board is gone."""
        try:
            received = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return []
        if not received:
            raise OSError(f"board '{self.board.name}' is gone")
        return [
            OutputChange(_TIME.unpack_from(frame.payload)[0], np.frombuffer(frame.payload, "<i4", offset=_TIME.size))
            for frame in self._decoder.feed(received)
            if frame.kind == FrameKind.WORLD_OUTPUTS
        ]

    def close(self) -> None:
        """Close it."""
        self._socket.close()
