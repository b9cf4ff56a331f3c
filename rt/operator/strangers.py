"""Connections to the operator channel that no operator has used yet: their number is bounded.

A connection costs a descriptor before its key is known, and libzmq can't accept a connection without one. So anybody
could keep the operators out by many idle connections. Three bounds prevent it: all descriptors that the system grants,
a short time for the handshake, and a number of strangers beyond which the oldest one is closed. A client with a key
that is among them connects again by itself.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket as sockets
import struct

import zmq

#: strangers at the same time, of 6 kB each, and the time of each to prove its key [ms]
_MOST, HANDSHAKE_MS = 4096, 1000
#: connections that wait to be accepted; the system may allow fewer
_BACKLOG = 4096
_EVENTS = "inproc://connections"
#: an event of libzmq: its kind, and a value, which is a descriptor here
_event = struct.Struct("=Hi")


class Strangers:
    """Those of a socket that is not bound yet."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], socket: zmq.Socket[bytes]) -> None:
        _, granted = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (granted, granted))
        self._most = min(_MOST, granted // 2) if granted != resource.RLIM_INFINITY else _MOST
        socket.handshake_ivl, socket.backlog = HANDSHAKE_MS, _BACKLOG
        socket.monitor(_EVENTS, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        #: of accepted and lost connections
        self.events = context.socket(zmq.PAIR)
        self.events.rcvhwm = 0  # libzmq waits where there is no room for an event, and so would every client
        self.events.connect(_EVENTS)
        self._descriptors: dict[int, None] = {}

    def look(self) -> None:
        """Take the events, and close the oldest connections where there are too many."""
        with contextlib.suppress(zmq.Again):
            while True:
                kind, descriptor = _event.unpack(self.events.recv_multipart(zmq.NOBLOCK)[0])
                if kind == zmq.EVENT_ACCEPTED:
                    self._descriptors[descriptor] = None
                else:
                    self._descriptors.pop(descriptor, None)
        for descriptor in list(self._descriptors)[: max(0, len(self._descriptors) - self._most)]:
            del self._descriptors[descriptor]
            # Only its end is sent, because the descriptor is libzmq's. Where that has closed it in between, and a new
            # connection has its number, that one is made again by its client.
            with contextlib.suppress(OSError), sockets.socket(fileno=os.dup(descriptor)) as connection:
                connection.shutdown(sockets.SHUT_RDWR)

    def trust(self, descriptor: int) -> None:
        """Count the connection as an operator's, whose message has come by it."""
        self._descriptors.pop(descriptor, None)
