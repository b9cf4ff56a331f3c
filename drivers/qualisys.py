"""A rigid body that a motion-capture system of Qualisys tracks (QTM RT protocol 1.20 to 1.25), as a pose sensor.

In a testbed's file:

    [devices.vision]
    driver = { kind = "qualisys", server = "192.168.1.10", body = "base", processing_s = 0.006 }
"""

from __future__ import annotations

import contextlib
import math
import socket
import time
from struct import Struct, error
from typing import Annotated, Literal, NamedTuple
from xml.etree import ElementTree

import numpy as np
from pydantic import Field

from granite.config.errors import InputError, one_of
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.drivers.pose_stream.device import MocapOptions, PoseSensor
from granite.drivers.pose_stream.message import PoseMessage
from granite.drivers.tcp_messages import TcpMessages

#: newest first; older servers refuse a version that they do not know
_VERSIONS = "1.25", "1.22", "1.20"
#: size with this header, kind
_HEADER = Struct("<II")
#: time of the exposure [us], number, components
_DATA = Struct("<qII")
#: size with this header, kind
_COMPONENT = Struct("<II")
#: bodies, dropped and unsynchronised frames per thousand
_BODIES = Struct("<IHH")
#: position [mm], rotation matrix, column by column
_BODY = Struct("<3f9f")
_ERROR, _COMMAND, _XML, _FRAME = range(4)
_SIX_DOF = 5
_LARGEST = 1 << 20
_ANSWER_S, _PAUSE_S = 2.0, 0.001
#: other packets, such as events, that may come before an answer
_MOST_SKIPPED = 50
_LONGEST_DATAGRAM = 65536


class QtmFrame(NamedTuple):
    """The bodies of a frame, in the order of the server's settings; None for one that is not tracked."""

    number: int
    exposed: float  #: time of the server [s]
    poses: list[tuple[tuple[float, float, float], tuple[float, float, float, float]] | None]  #: [m], quaternion w x y z


class Qualisys(PoseSensor):
    """The pose of a 6DOF body, with the time of its exposure."""

    class Options(MocapOptions):
        """Server, body and frame."""

        #: name or address of the computer where QTM runs
        server: str
        #: name of the 6DOF body
        body: str
        #: how frames come; commands always go over TCP
        transport: Literal["udp", "tcp"] = "udp"
        #: QTM's port for commands in little-endian order
        command_port: Annotated[int, Field(gt=0, lt=65536)] = 22223

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        super().__init__(options, options.body, name, bed)
        self._qualisys = options
        self._connection: _Connection | None = None
        self._index = 0

    def open(self) -> None:
        """Find the server, the body in its settings, and let it stream."""
        connection = _Connection(self._qualisys)
        try:
            names = connection.bodies()
            if self._qualisys.body not in names:
                expected = one_of(self._qualisys.body, names) if names else "a 6DOF body: the server has none"
                raise InputError("no such body", key="body", value=self._qualisys.body, expected=expected)
            self._index = names.index(self._qualisys.body)
            connection.stream()
        except BaseException:
            connection.close()
            raise
        self._connection = self._receiver = connection

    @property
    def identity(self) -> str:
        """The body, and the version of the protocol."""
        assert self._connection is not None
        return f"6DOF body '{self._body}' of QTM at {self._qualisys.server}, protocol {self._connection.version}"

    def _message(self, received: bytes) -> PoseMessage | None:
        frame = frame_of(received)
        if frame is None:
            return None
        sent = frame.exposed + self._qualisys.processing_s
        pose = frame.poses[self._index] if self._index < len(frame.poses) else None
        position, quaternion = pose or ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
        message = PoseMessage(self._body, frame.number, frame.exposed, sent, position, quaternion, pose is not None)
        return message.turned_upright() if self._qualisys.up == "y" else message


class _Connection:
    """Commands over TCP, and frames over TCP or UDP."""

    def __init__(self, options: Qualisys.Options) -> None:
        self._options = options
        self._tcp = TcpMessages(options.server, options.command_port, _size_of)
        self._udp: socket.socket | None = None
        try:
            self._answer(_COMMAND)  # it greets
            self.version = next(filter(self._takes, _VERSIONS), "")
            if not self.version:
                raise self._refusal("it refuses these versions of the protocol", " or ".join(_VERSIONS))
        except BaseException:
            self.close()
            raise

    def bodies(self) -> list[str]:
        """Names of the 6DOF bodies."""
        self._command("GetParameters 6D")
        try:
            settings = ElementTree.fromstring(self._answer(_XML).rstrip(b"\0"))
        except ElementTree.ParseError as damaged:
            raise self._refusal(f"its settings can't be read: {damaged}", "QTM") from damaged
        return [(body.findtext("Name") or "").strip() for body in settings.iter("Body")]

    def stream(self) -> None:
        """Let every frame come from now on; `InputError` where none comes."""
        way = ""
        if self._options.transport == "udp":
            self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._udp.bind((self._tcp.address, 0))
            self._udp.setblocking(False)
            way = f"UDP:{self._udp.getsockname()[1]} "
        self._command(f"StreamFrames AllFrames {way}6D")
        until = time.monotonic() + _ANSWER_S
        while frame_of(self.receive() or b"") is None:
            if time.monotonic() > until:
                problem = f"it answers, but no frame comes by {self._options.transport}"
                raise self._refusal(problem, "a server that streams, and a firewall that lets its frames pass")
            time.sleep(_PAUSE_S)

    def receive(self) -> bytes | None:
        """The next packet that has arrived, or None; events and answers are no frames."""
        if self._udp is not None:
            with contextlib.suppress(OSError):  # nothing has arrived
                return self._udp.recv(_LONGEST_DATAGRAM)
            return None
        while (packet := self._tcp.receive()) is not None:
            if _HEADER.unpack_from(packet)[1] == _FRAME:
                return packet
        return None

    def close(self) -> None:
        """Close the sockets, which ends the stream."""
        self._tcp.close()
        if self._udp is not None:
            self._udp.close()

    def _takes(self, version: str) -> bool:
        self._command(f"Version {version}")
        return self._answer(_COMMAND, _ERROR).startswith(b"Version set")

    def _command(self, text: str) -> None:
        content = text.encode() + b"\0"
        self._tcp.send(_HEADER.pack(_HEADER.size + len(content), _COMMAND) + content)

    def _answer(self, *kinds: int) -> bytes:
        for _ in range(_MOST_SKIPPED):
            packet = self._tcp.wait(_ANSWER_S)
            if packet is None:
                break
            content = packet[_HEADER.size :]
            kind = _HEADER.unpack_from(packet)[1]
            if kind in kinds:
                return content
            if kind == _ERROR:
                text = content.rstrip(b"\0").decode("utf-8", "replace")
                raise self._refusal(f"it refuses: {text}", "a QTM server that takes commands")
        problem = f"no QTM server answers at port {self._options.command_port}"
        raise self._refusal(problem, "the computer where QTM runs, with its real-time server on")

    def _refusal(self, problem: str, expected: str) -> InputError:
        return InputError(problem, key="server", value=self._options.server, expected=expected)


def _size_of(received: bytes) -> int | None:
    if len(received) < _HEADER.size:
        return None
    size, _ = _HEADER.unpack_from(received)
    return int(size) if _HEADER.size <= size <= _LARGEST else 0


def frame_of(packet: bytes) -> QtmFrame | None:
    """The frame in a packet; None if it has none, or is damaged."""
    try:
        size, kind = _HEADER.unpack_from(packet)
        if size != len(packet) or kind != _FRAME:
            return None
        exposed_us, number, components = _DATA.unpack_from(packet, _HEADER.size)
        at = _HEADER.size + _DATA.size
        for _ in range(components):
            size, kind = _COMPONENT.unpack_from(packet, at)
            if size < _COMPONENT.size:
                return None
            if kind == _SIX_DOF:
                count, _, _ = _BODIES.unpack_from(packet, at + _COMPONENT.size)
                first = at + _COMPONENT.size + _BODIES.size
                if size != _COMPONENT.size + _BODIES.size + count * _BODY.size:
                    return None
                bodies = [_BODY.unpack_from(packet, first + i * _BODY.size) for i in range(count)]
                return QtmFrame(number, exposed_us * 1e-6, [_pose(body) for body in bodies])
            at += size
    except error:
        return None
    return None


def _pose(body: tuple[float, ...]) -> tuple[tuple[float, float, float], tuple[float, float, float, float]] | None:
    """Position [m] and quaternion; None where the body is not tracked: its numbers are NaN."""
    if not all(map(math.isfinite, body)):
        return None
    x, y, z = (value * 1e-3 for value in body[:3])
    return (x, y, z), quaternion_of(np.reshape(body[3:], (3, 3)).T)


def quaternion_of(R: Array) -> tuple[float, float, float, float]:
    """w, x, y, z of a rotation matrix: the column of 4 q q^T with the largest diagonal (Shepperd, 1978).

    The norm is that of the column, and differs from 1 where R is no rotation.
    """
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    products = [
        [1 + a + e + i, h - f, c - g, d - b],
        [h - f, 1 + a - e - i, b + d, c + g],
        [c - g, b + d, 1 - a + e - i, f + h],
        [d - b, c + g, f + h, 1 - a - e + i],
    ]
    k = max(range(4), key=lambda j: products[j][j])
    largest = products[k][k]
    if not largest > 0:
        return 0.0, 0.0, 0.0, 0.0
    w, x, y, z = (value / (2 * math.sqrt(largest)) for value in products[k])
    return w, x, y, z
