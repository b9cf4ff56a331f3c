"""Messages with a header of known form over a TCP connection: opening waits, the loop takes what has arrived."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable

from granite.config.errors import InputError

_CONNECT_S = 2.0
_READ_BYTES = 65536


class TcpMessages:
    """A connection to a server.

    Parameters
    ----------
    server, port
        Where it is.
    size_of
        Size of the message at the begin of the bytes that have arrived; None while its header is not whole, 0 where
        there is none: the connection is closed then, because later ones could not be told apart.

    Raises
    ------
    InputError
        Where it can't be reached.
    """

    def __init__(self, server: str, port: int, size_of: Callable[[bytes], int | None]) -> None:
        self._size_of, self._received = size_of, b""
        #: whether the server closed the connection, or sent what is no message
        self.is_lost = False
        try:
            self._socket = socket.create_connection((server, port), _CONNECT_S)
        except OSError as error:
            problem = f"it can't be reached at port {port}: {error.strerror or error}"
            expected = "name or address of a computer where streaming is switched on"
            raise InputError(problem, key="server", value=server, expected=expected) from error
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def address(self) -> str:
        """The address of this computer towards the server."""
        return str(self._socket.getsockname()[0])

    def send(self, message: bytes) -> None:
        """Send a message; a connection that is gone is noticed by `receive`."""
        with contextlib.suppress(OSError):
            self._socket.sendall(message)

    def receive(self) -> bytes | None:
        """The next whole message that has arrived, or None."""
        if (message := self._next()) is not None or self.is_lost:
            return message
        try:
            received = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            received = b""
        self.is_lost = not received
        self._received += received
        return self._next()

    def wait(self, seconds: float) -> bytes | None:
        """The next message within this time, or None."""
        end = time.monotonic() + seconds
        while (message := self.receive()) is None and not self.is_lost:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._socket], [], [], left)[0]:
                return None
        return message

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _next(self) -> bytes | None:
        size = self._size_of(self._received)
        if size == 0:
            self.is_lost, self._received = True, b""
        if not size or len(self._received) < size:
            return None
        message, self._received = self._received[:size], self._received[size:]
        return message
