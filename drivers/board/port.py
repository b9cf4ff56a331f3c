"""Opening a serial port: configured by pyserial, then read and written without blocking on its descriptor."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import stat
import termios
from typing import Annotated

import serial
from pydantic import AfterValidator, Field
from serial.tools import list_ports

from granite.config.errors import InputError

_READ_BYTES = 4096


def _is_path(path: str) -> str:
    if "\0" in path:
        raise InputError(value=path, expected="a path without the character NUL")
    return path


#: bits a second: more than any port has, and less than the 32 bits of termios
Baud = Annotated[int, Field(gt=0, le=100_000_000)]
#: of a port in a testbed's file
PortPath = Annotated[str, AfterValidator(_is_path)]


class Port:
    """An open serial port.

    Parameters
    ----------
    path
        Such as /dev/ttyACM0, or better the name below /dev/serial/by-id, which stays the same.
    baud
        Bits a second.

    Raises
    ------
    InputError
        Where it can't be opened; the sentence says what to do.
    """

    def __init__(self, path: str, baud: int) -> None:
        try:
            self._serial = serial.Serial(path, baud, timeout=0, write_timeout=0, exclusive=True)
        except (OSError, ValueError) as error:
            raise _refusal(path, baud, error) from error
        with contextlib.suppress(OSError, ValueError, NotImplementedError):
            self._serial.set_low_latency_mode(True)  # USB adapters wait up to 16 ms otherwise; others do not know it
        self._descriptor: int = self._serial.fileno()
        # With pyserial's VMIN of 0 a read without bytes looks like a port that is gone.
        attributes = termios.tcgetattr(self._descriptor)
        attributes[6][termios.VMIN] = 1
        termios.tcsetattr(self._descriptor, termios.TCSANOW, attributes)
        termios.tcflush(self._descriptor, termios.TCIOFLUSH)
        os.set_blocking(self._descriptor, False)
        self._unsent = b""

    def fileno(self) -> int:
        """The descriptor, for `select`."""
        return self._descriptor

    def read(self) -> bytes:
        """The bytes that have arrived; OSError if the port is gone."""
        try:
            received = os.read(self._descriptor, _READ_BYTES)
        except BlockingIOError:
            return b""
        if not received:
            raise OSError(errno.EIO, "the port hung up")
        return received

    def write(self, frame: bytes) -> bool:
        """Send a frame, whole or after the rest of the one before; False if that rest still blocks the port.

        The rest of a frame is sent first, because a board would read two half frames as one damaged one.
        """
        try:
            if self._unsent:
                self._unsent = self._unsent[os.write(self._descriptor, self._unsent) :]
                if self._unsent:
                    return False
            self._unsent = frame[os.write(self._descriptor, frame) :]
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Close it; a port that is gone is closed already."""
        with contextlib.suppress(OSError):
            self._serial.close()


def _refusal(path: str, baud: int, error: Exception) -> InputError:
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        ports = sorted(port.device for port in list_ports.comports())
        expected = f"one of {', '.join(ports)}" if ports else "a port: none is connected"
        return InputError("no such port", key="port", value=path, expected=expected)
    if number in (errno.EACCES, errno.EPERM):
        return InputError("permission denied", key="port", value=path, expected=_permission(path))
    if number in (errno.EBUSY, errno.EAGAIN):
        return InputError("another program uses this port", key="port", value=path, expected="a free one")
    is_path = "\0" not in path and not isinstance(error, UnicodeError)
    if isinstance(error, ValueError) and is_path:
        return InputError("the port does not have this rate", key="baud", value=baud, expected="one that it has")
    return InputError(f"it can't be opened: {error}", key="port", value=path, expected="a serial port")


def _permission(path: str) -> str:
    """What gives access to a port: membership of its group, if the group has access."""
    try:
        status = os.stat(path)
        group = grp.getgrgid(status.st_gid).gr_name
    except (OSError, KeyError):
        return "a port that you may read and write"
    if not status.st_mode & stat.S_IRGRP or not status.st_mode & stat.S_IWGRP:
        return f"a port that group {group} may read and write (mode {stat.filemode(status.st_mode)}; see udev rules)"
    return f"that you are in group {group}: `sudo usermod --append --groups {group} $USER`, then log in again"
