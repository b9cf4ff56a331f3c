"""Packets of NatNet 3 and 4: frames of motion capture with their rigid bodies, and the server's description.

Sections of a frame stand in this order; from version 4.1 on each has its size in bytes behind its count:

    marker sets, other markers, rigid bodies, skeletons, assets (from 4.1),
    labelled markers, force plates, devices, times
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from enum import IntEnum
from struct import Struct, error
from typing import NamedTuple

Version = tuple[int, int]

OLDEST: Version = (3, 0)
NEWEST_MAJOR = 4
#: from this version on sections have their size
_SIZED: Version = (4, 1)

_HEADER = Struct("<HH")  # message, bytes behind the header
_COUNT = Struct("<I")
#: id, position, quaternion x y z w, mean error of the markers [m], flags
_BODY = Struct("<I3f4ffH")
_TRACKED = 1
_MARKER = 12
_LABELLED_MARKER = 26
_SAMPLE = 4
#: time code, its part, time of the software [s]; ticks at middle of exposure, arrival of pictures, transmission; flags
_TIMES = Struct("<IId3QH")
#: name, version of the application, of NatNet, ticks a second, data port, multicast, its address
_SERVER = Struct("<256s4B4BQH?4s")


class PacketKind(IntEnum):
    """Kinds of packets."""

    CONNECT = 0
    SERVER = 1
    FRAME = 7
    KEEP_ALIVE = 10


class RigidBody(NamedTuple):
    """A rigid body in a frame, in the axes of the stream."""

    position: tuple[float, float, float]  #: [m]
    quaternion: tuple[float, float, float, float]  #: w, x, y, z
    is_tracked: bool


class MocapFrame(NamedTuple):
    """A frame. Times are ticks of the server's clock."""

    number: int
    bodies: dict[int, RigidBody]  #: by streaming id
    exposed: int  #: middle of the exposure
    sent: int


class ServerDescription(NamedTuple):
    """What a server says about itself."""

    name: str
    version: Version  #: of NatNet
    ticks_per_s: int
    data_port: int
    is_multicast: bool
    multicast: str


def connect_packet() -> bytes:
    """Asks a server for its description."""
    sender = Struct("<256s4B4B").pack(b"Granite", 1, 0, 0, 0, *_SIZED, 0, 0)
    return _HEADER.pack(PacketKind.CONNECT, len(sender)) + sender


def keep_alive_packet() -> bytes:
    """A server sends unicast frames to those who send this."""
    return _HEADER.pack(PacketKind.KEEP_ALIVE, 0)


def message_of(packet: bytes) -> int | None:
    """The kind of a packet; None if it is none of NatNet."""
    if len(packet) < _HEADER.size:
        return None
    message, size = _HEADER.unpack_from(packet)
    return int(message) if _HEADER.size + size == len(packet) else None


def server_of(packet: bytes) -> ServerDescription | None:
    """The description in a packet; None if it has none. Servers before version 3 have shorter ones, without a clock."""
    if message_of(packet) != PacketKind.SERVER or len(packet) < _HEADER.size + 264:
        return None
    block = packet[_HEADER.size :].ljust(_SERVER.size, b"\0")
    name, *rest = _SERVER.unpack_from(block)
    major, minor, ticks, port, is_multicast, address = rest[4], rest[5], *rest[8:]
    text = name.partition(b"\0")[0].decode("utf-8", "replace")
    return ServerDescription(text, (major, minor), ticks, port, is_multicast, socket.inet_ntoa(address))


def frame_of(packet: bytes, version: Version) -> MocapFrame | None:
    """The frame in a packet; None if it has none, or is damaged."""
    if message_of(packet) != PacketKind.FRAME:
        return None
    try:
        return _Sections(packet, version).frame()
    except (error, ValueError):
        return None


class _Sections:
    """Reads the sections of a frame one after the other."""

    def __init__(self, packet: bytes, version: Version) -> None:
        self._packet, self._at = packet, _HEADER.size
        self._has_sizes = version >= _SIZED

    def frame(self) -> MocapFrame:
        number = self._count()
        self._skip(self._marker_set)
        self._skip(lambda: self._pass(_MARKER))
        bodies = self._bodies()
        self._skip(self._skeleton)
        if self._has_sizes:
            self._skip_sized()  # assets
        self._skip(lambda: self._pass(_LABELLED_MARKER))
        self._skip(self._channels)
        self._skip(self._channels)
        *_, exposed, _, sent, _ = _TIMES.unpack_from(self._packet, self._at)
        return MocapFrame(number, bodies, exposed, sent)

    def _count(self) -> int:
        (count,) = _COUNT.unpack_from(self._packet, self._at)
        self._at += _COUNT.size
        return int(count)

    def _pass(self, size: int) -> None:
        self._at += size
        if self._at > len(self._packet):
            raise ValueError("the packet ends within a section")

    def _skip(self, element: Callable[[], None]) -> None:
        if self._has_sizes:
            self._skip_sized()
            return
        for _ in range(self._count()):
            element()

    def _skip_sized(self) -> None:
        self._count()
        self._pass(self._count())

    def _bodies(self) -> dict[int, RigidBody]:
        count, bodies = self._count(), {}
        if self._has_sizes:
            self._count()
        for _ in range(count):
            id, x, y, z, qx, qy, qz, qw, _, flags = _BODY.unpack_from(self._packet, self._at)
            self._at += _BODY.size
            bodies[id] = RigidBody((x, y, z), (qw, qx, qy, qz), bool(flags & _TRACKED))
        return bodies

    def _marker_set(self) -> None:
        self._at = self._packet.index(0, self._at) + 1  # its name
        self._pass(self._count() * _MARKER)

    def _skeleton(self) -> None:
        self._count()
        self._pass(self._count() * _BODY.size)

    def _channels(self) -> None:
        """Of a force plate or another device."""
        self._count()
        for _ in range(self._count()):
            self._pass(self._count() * _SAMPLE)
