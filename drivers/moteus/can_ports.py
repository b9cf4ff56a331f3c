"""Two ways to a CAN FD bus, which read and write without blocking: an fdcanusb adapter, and the system's socketcan."""

from __future__ import annotations

import contextlib
import errno
import re
import socket
from struct import Struct
from typing import NamedTuple, Protocol

from granite.config.errors import InputError
from granite.drivers.board.port import Port

_BAUD = 9600  # a USB device ignores it
_LONGEST_LINE = 512
_RECEIVED = re.compile(rb"rcv ([0-9a-fA-F]{1,8}) ((?:[0-9a-fA-F]{2})*)(?: .*)?")
#: identifier with flags, length, flags
_SYSTEM_FRAME = Struct("=IBB2x64s")
_LONG_IDENTIFIER, _BIT_RATE_SWITCH, _LONG_MASK = 0x80000000, 0x01, 0x1FFFFFFF
_MOST_READS = 64


class CanFrame(NamedTuple):
    """A frame on the bus."""

    identifier: int
    content: bytes


class CanPort(Protocol):
    """An open bus; OSError where it is gone."""

    def fileno(self) -> int:
        """The descriptor, for `select`."""

    def send(self, frames: list[CanFrame]) -> bool:
        """Send frames; False if they are not taken now."""

    def receive(self) -> list[CanFrame]:
        """The frames that have arrived."""

    def close(self) -> None:
        """Close it."""


def open_can(port: str) -> CanPort:
    """The bus at a path, such as /dev/fdcanusb, or of an interface, such as can0.

    Raises
    ------
    InputError
        Where it can't be opened.
    """
    return _Fdcanusb(port) if "/" in port else _SocketCan(port)


class _Fdcanusb:
    """An fdcanusb adapter: lines `can send ID DATA` and `rcv ID DATA FLAGS`."""

    def __init__(self, path: str) -> None:
        self._port, self._rest = Port(path, _BAUD), b""

    def fileno(self) -> int:
        return self._port.fileno()

    def send(self, frames: list[CanFrame]) -> bool:
        lines = [b"can send %x %s\n" % (frame.identifier, frame.content.hex().encode()) for frame in frames]
        return self._port.write(b"".join(lines))

    def receive(self) -> list[CanFrame]:
        *lines, self._rest = (self._rest + self._port.read()).split(b"\n")
        self._rest = self._rest if len(self._rest) <= _LONGEST_LINE else b""
        frames = []
        for line in lines:
            if (match := _RECEIVED.fullmatch(line.strip())) and len(match[2]) <= 128:
                frames.append(CanFrame(int(match[1], 16), bytes.fromhex(match[2].decode())))
        return frames

    def close(self) -> None:
        self._port.close()


class _SocketCan:
    """An interface of the system, set up with FD and its bit rates (`ip link set can0 up type can ... fd on`)."""

    def __init__(self, interface: str) -> None:
        try:
            self._socket = socket.socket(socket.AF_CAN, socket.SOCK_RAW, socket.CAN_RAW)
        except (OSError, AttributeError) as error:
            raise InputError("this system has no socketcan", key="port", value=interface) from error
        try:
            self._socket.setsockopt(socket.SOL_CAN_RAW, socket.CAN_RAW_FD_FRAMES, 1)
            self._socket.bind((interface,))
        except OSError as error:
            self._socket.close()
            problem = "no such interface" if error.errno == errno.ENODEV else f"it can't be opened: {error}"
            expected = "a CAN FD interface that is up, or the path of an fdcanusb"
            raise InputError(problem, key="port", value=interface, expected=expected) from error
        self._socket.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, frames: list[CanFrame]) -> bool:
        for identifier, content in frames:
            is_long = _LONG_IDENTIFIER if identifier > 0x7FF else 0
            packed = _SYSTEM_FRAME.pack(identifier | is_long, len(content), _BIT_RATE_SWITCH, content)
            try:
                self._socket.send(packed)
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.ENOBUFS):
                    return False
                raise
        return True

    def receive(self) -> list[CanFrame]:
        frames: list[CanFrame] = []
        with contextlib.suppress(BlockingIOError):
            while len(frames) < _MOST_READS:
                received = self._socket.recv(_SYSTEM_FRAME.size)
                identifier, length, _, content = _SYSTEM_FRAME.unpack(received.ljust(_SYSTEM_FRAME.size, b"\0"))
                frames.append(CanFrame(identifier & _LONG_MASK, content[: min(length, 64)]))
        return frames

    def close(self) -> None:
        self._socket.close()
