"""The sockets to a NatNet server: commands, and frames by multicast or unicast, without blocking once it is open."""

from __future__ import annotations

import contextlib
import select
import socket
import time

from granite.config.errors import InputError
from granite.drivers.natnet.packets import (
    NEWEST_MAJOR,
    OLDEST,
    MocapFrame,
    ServerDescription,
    connect_packet,
    frame_of,
    keep_alive_packet,
    server_of,
)

_LONGEST = 65536
_TRIES, _ANSWER_S = 4, 0.25
#: for the first frame [s]
_FRAME_S = 1.0


class Connection:
    """A server that has described itself.

    Raises
    ------
    InputError
        Where it does not answer, its version is not known, or an address can't be used.
    """

    def __init__(self, server: str, command_port: int, interface: str) -> None:
        self._to, self._interface = (server, command_port), interface
        self._sockets: list[socket.socket] = []
        try:
            self._sockets.append(self._bound(0))
            self.server = self._greet()
            if self.server.is_multicast:
                self._sockets.append(self._joined())
        except BaseException:
            self.close()
            raise

    def receive(self) -> bytes | None:
        """The next packet that has arrived, or None."""
        for each in self._sockets:
            with contextlib.suppress(OSError):  # nothing has arrived
                return each.recv(_LONGEST)
        return None

    def keep_alive(self) -> None:
        """Ask for frames further on, where they are sent to this computer alone."""
        if not self.server.is_multicast:
            with contextlib.suppress(OSError):
                self._sockets[0].sendto(keep_alive_packet(), self._to)

    def first_frame(self) -> MocapFrame:
        """Wait for a frame; `InputError` if none comes."""
        deadline = time.monotonic() + _FRAME_S
        self.keep_alive()
        while (left := deadline - time.monotonic()) > 0 and select.select(self._sockets, [], [], left)[0]:
            frame = frame_of(self.receive() or b"", self.server.version)
            if frame is not None:
                return frame
        way = f"multicast {self.server.multicast}:{self.server.data_port}" if self.server.is_multicast else "unicast"
        expected = "a server that streams, by a network and a firewall that let its frames pass"
        raise InputError(f"it answers, but no frame comes by {way}", key="server", value=self._to[0], expected=expected)

    def close(self) -> None:
        """Close the sockets."""
        for each in self._sockets:
            each.close()

    def _greet(self) -> ServerDescription:
        link = self._sockets[0]
        for _ in range(_TRIES):
            try:
                link.sendto(connect_packet(), self._to)
            except OSError as error:
                problem = f"it can't be reached: {error.strerror or error}"
                expected = "name or address of the server"
                raise InputError(problem, key="server", value=self._to[0], expected=expected) from error
            deadline = time.monotonic() + _ANSWER_S
            while (left := deadline - time.monotonic()) > 0 and select.select([link], [], [], left)[0]:
                server = server_of(self.receive() or b"")
                if server is not None:
                    return self._known(server)
        problem = f"no NatNet server answers at port {self._to[1]}"
        raise InputError(problem, key="server", value=self._to[0], expected="a computer where streaming is switched on")

    def _known(self, server: ServerDescription) -> ServerDescription:
        if not server.version >= OLDEST or server.version[0] > NEWEST_MAJOR or not server.ticks_per_s:
            problem = f"'{server.name}' there streams NatNet {server.version[0]}.{server.version[1]}"
            expected = f"version {OLDEST[0]} or {NEWEST_MAJOR}"
            raise InputError(problem, key="server", value=self._to[0], expected=expected)
        return server

    def _bound(self, port: int) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # several programs may listen to one group
            made.bind((self._interface if port == 0 else "", port))
        except OSError as error:
            made.close()
            raise self._unusable(error) from error
        made.setblocking(False)
        return made

    def _joined(self) -> socket.socket:
        made = self._bound(self.server.data_port)
        group = socket.inet_aton(self.server.multicast) + socket.inet_aton(self._interface)
        try:
            made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
        except OSError as error:
            made.close()
            raise self._unusable(error) from error
        return made

    def _unusable(self, error: OSError) -> InputError:
        problem = f"frames can't be received there: {error.strerror or error}"
        expected = "an IPv4 address of this computer, in the network of the server"
        return InputError(problem, key="interface", value=self._interface, expected=expected)
