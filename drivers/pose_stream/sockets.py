"""The two ends of a pose stream: sockets that receive and send without blocking, over UDP or ZeroMQ.

`udp://HOST:PORT` receives on that address of this computer; a sender sends there. Any other address is of ZeroMQ
(`tcp://HOST:PORT`, `ipc://FILE`): the sender binds it and publishes, and receivers connect to it.
"""

from __future__ import annotations

import contextlib
import ctypes
import socket
from typing import Any, Protocol

import zmq

from granite.config.errors import InputError

_LONGEST = 4096
_PORTS = 1, 65535
_UDP = "udp://"
_EXPECTED = "udp://HOST:PORT, tcp://HOST:PORT or ipc://FILE"
#: messages that wait for their reader; the oldest are lost then
_WAITING = 64
#: length of an address of any family [bytes]
_NO_ADDRESS = 28


class Receiver(Protocol):
    """Receives messages."""

    def receive(self) -> bytes | None:
        """The next message that has arrived, or None."""

    def close(self) -> None:
        """Close it."""


class StreamReceiver(Receiver, Protocol):
    """Receives messages of one sender out of several."""

    def listen_to_sender(self) -> None:
        """From now on receive only from the sender of the last message."""

    def listen_to_all(self) -> None:
        """Receive from all senders again."""


class Sender(Protocol):
    """Sends messages."""

    def send(self, message: bytes) -> None:
        """Send it; it is lost where nobody receives."""

    def close(self) -> None:
        """Close it."""


def open_receiver(address: str, public_key: str | None = None) -> StreamReceiver:
    """A receiver of the stream at this address, over ZeroMQ of a publisher with this CURVE key, if one is given.

    Raises
    ------
    InputError
        Where the address or the key can't be used.
    """
    return _UdpReceiver(*_host_and_port(address)) if address.startswith(_UDP) else _ZmqReceiver(address, public_key)


def open_sender(address: str, keys: tuple[bytes, bytes] | None = None) -> Sender:
    """A sender of the stream at this address, over ZeroMQ with a public and a secret CURVE key; see `open_receiver`."""
    return _UdpSender(*_host_and_port(address)) if address.startswith(_UDP) else _ZmqSender(address, keys)


def open_pair() -> tuple[Receiver, socket.socket]:
    """A receiver, and the socket that another process on this computer sends to it by: see `passed_sender`."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return _SocketReceiver(here), there


def passed_sender(descriptor: int) -> Sender:
    """The sender on a socket that was passed to this process."""
    return _SocketSender(socket.socket(fileno=descriptor))


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix(_UDP).rpartition(":")
    if not host or not (port.isascii() and port.isdigit()):
        raise InputError(key="address", value=address, expected=_EXPECTED)
    if not _PORTS[0] <= int(port) <= _PORTS[1]:
        raise InputError(f"no port {port}", key="address", value=address, expected=f"{_PORTS[0]} to {_PORTS[1]}")
    return host.strip("[]"), int(port)


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


class _SocketReceiver:
    def __init__(self, receiving: socket.socket) -> None:
        self._socket = receiving
        self._socket.setblocking(False)

    def receive(self) -> bytes | None:
        try:
            return self._socket.recv(_LONGEST)
        except OSError:  # nothing has arrived
            return None

    def close(self) -> None:
        self._socket.close()


class _SocketSender:
    def __init__(self, sending: socket.socket) -> None:
        self._socket = sending
        self._socket.setblocking(False)

    def send(self, message: bytes) -> None:
        with contextlib.suppress(OSError):  # nobody receives
            self._socket.send(message)

    def close(self) -> None:
        self._socket.close()


class _UdpReceiver(_SocketReceiver):
    def __init__(self, host: str, port: int) -> None:
        receiving = socket.socket(_family(host), socket.SOCK_DGRAM)
        try:
            receiving.bind((host, port))
        except OSError as error:
            receiving.close()
            problem = f"it can't be received there: {error.strerror or error}"
            raise InputError(
                problem,
                key="address",
                value=f"{_UDP}{host}:{port}",
                expected="an address of this computer, and a free port",
            ) from error
        super().__init__(receiving)
        self._last: Any = None
        self._only: Any = None

    def receive(self) -> bytes | None:
        while True:
            try:
                message, self._last = self._socket.recvfrom(_LONGEST)
            except OSError:  # nothing has arrived
                return None
            if self._only in (None, self._last):  # others may have waited before the system sorted them out
                return message

    def listen_to_sender(self) -> None:
        if self._only is None:
            with contextlib.suppress(OSError):
                self._socket.connect(self._last)  # the system drops datagrams of all others, so a flood costs nothing
                self._only = self._last

    def listen_to_all(self) -> None:
        if self._only is not None:
            # Python has no name for an address of no family, which ends the connection of a UDP socket.
            ctypes.CDLL(None).connect(self._socket.fileno(), bytes(_NO_ADDRESS), _NO_ADDRESS)
            self._only = None


class _UdpSender(_SocketSender):
    def __init__(self, host: str, port: int) -> None:
        super().__init__(socket.socket(_family(host), socket.SOCK_DGRAM))
        self._to = host, port

    def send(self, message: bytes) -> None:
        with contextlib.suppress(OSError):  # nobody receives yet
            self._socket.sendto(message, self._to)


def _zmq_socket(kind: int) -> zmq.Socket[bytes]:
    made: zmq.Socket[bytes] = zmq.Context.instance().socket(kind)
    made.setsockopt(zmq.LINGER, 0)
    if kind == zmq.SUB:
        made.setsockopt(zmq.RCVHWM, _WAITING)  # a sender learns late what was read, so a low mark there loses poses
    return made


class _ZmqReceiver:
    def __init__(self, address: str, public_key: str | None) -> None:
        self._socket = _zmq_socket(zmq.SUB)
        self._socket.setsockopt(zmq.SUBSCRIBE, b"")
        try:
            if public_key:
                self._socket.curve_serverkey = public_key.encode()
                # The publisher proves its key, and not this side: poses are no secret.
                self._socket.curve_publickey, self._socket.curve_secretkey = zmq.curve_keypair()
            self._socket.connect(address)
        except zmq.ZMQError as error:
            self._socket.close()
            raise InputError(f"{error}", key="address", value=address, expected=_EXPECTED) from error

    def receive(self) -> bytes | None:
        try:
            return self._socket.recv(zmq.NOBLOCK)
        except zmq.ZMQError:  # nothing has arrived
            return None

    def listen_to_sender(self) -> None:
        """It is the only one: the one that this side has connected to."""

    def listen_to_all(self) -> None:
        """There is only one."""

    def close(self) -> None:
        self._socket.close()


class _ZmqSender:
    def __init__(self, address: str, keys: tuple[bytes, bytes] | None) -> None:
        self._socket = _zmq_socket(zmq.PUB)
        try:
            if keys:
                self._socket.curve_server = True
                self._socket.curve_publickey, self._socket.curve_secretkey = keys
            self._socket.bind(address)
        except zmq.ZMQError as error:
            self._socket.close()
            raise InputError(f"{error}", key="address", value=address, expected=_EXPECTED) from error

    def send(self, message: bytes) -> None:
        with contextlib.suppress(zmq.ZMQError):
            self._socket.send(message, zmq.NOBLOCK)

    def close(self) -> None:
        self._socket.close()
