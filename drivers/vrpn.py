"""A tracker of a VRPN server (TCP, version 07.xx), as a pose sensor: most motion-capture systems have such a server.

In a testbed's file:

    [devices.vision]
    driver = { kind = "vrpn", server = "192.168.1.10", tracker = "base", processing_s = 0.008 }

Messages of a connection have a header of 24 bytes in network order (length without padding, time, sender, kind,
number) and are padded to a multiple of 8 bytes. Names of senders and kinds come first, as messages of kinds -1 and -2.
"""

from __future__ import annotations

import time
from struct import Struct, error
from typing import Annotated

from pydantic import Field

from granite.config.errors import InputError, one_of
from granite.config.testbed import Testbed
from granite.drivers.pose_stream.device import MocapOptions, PoseSensor
from granite.drivers.pose_stream.message import PoseMessage
from granite.drivers.tcp_messages import TcpMessages

_COOKIE = b"vrpn: ver. 07.35  0".ljust(24, b"\0")
#: major version, which must be the same
_MAGIC = b"vrpn: ver. 07"
#: length, s, us, sender, kind, number
_HEADER = Struct(">I2IiiI")
#: sensor, position [m], quaternion x y z w
_POSE = Struct(">i4x3d4d")
_SENDER, _KIND = -1, -2
_POSES = "vrpn_Tracker Pos_Quat"
_ALIGN = 8
_LARGEST = 1 << 16
#: for the cookie, and for a first pose [s]
_ANSWER_S = 2.0


class Vrpn(PoseSensor):
    """The pose of one sensor of a tracker; the time of its message is that of the exposure."""

    class Options(MocapOptions):
        """Server, tracker and frame."""

        #: name or address of the computer that streams
        server: str
        #: name of the tracker: that of the rigid body
        tracker: str
        #: number of the sensor of the tracker
        sensor: Annotated[int, Field(ge=0)] = 0
        #: where the server listens
        port: Annotated[int, Field(gt=0, lt=65536)] = 3883

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        super().__init__(options, options.tracker, name, bed)
        self._vrpn = options
        self._number = 0

    def open(self) -> None:
        """Find the server, and a pose of the tracker."""
        options = self._vrpn
        connection = VrpnConnection(options.server, options.port)
        try:
            connection.wait_for(options.tracker, options.sensor)
        except BaseException:
            connection.close()
            raise
        self._receiver = connection

    @property
    def identity(self) -> str:
        """The tracker and the server."""
        return f"sensor {self._vrpn.sensor} of tracker '{self._body}' at {self._vrpn.server}:{self._vrpn.port}"

    def _message(self, received: bytes) -> PoseMessage | None:
        pose = pose_of(received)
        if pose is None:
            return None
        s, us, sensor, position, quaternion = pose
        self._number += 1  # the connection keeps the order, so messages need no number of the sender
        body = self._body if sensor == self._vrpn.sensor else ""
        exposed = s + us * 1e-6
        sent = exposed + self._vrpn.processing_s
        message = PoseMessage(body, self._number, exposed, sent, position, quaternion)
        return message.turned_upright() if self._vrpn.up == "y" else message


class VrpnConnection:
    """Messages with poses of one tracker."""

    def __init__(self, server: str, port: int) -> None:
        self._has_cookie = False
        self._tcp = TcpMessages(server, port, self._size_of)
        self._names: dict[int, dict[int, str]] = {_SENDER: {}, _KIND: {}}
        self._tracker = ""
        self._tcp.send(_COOKIE)
        cookie = self._tcp.wait(_ANSWER_S)
        if cookie is None or not cookie.startswith(_MAGIC):
            self.close()
            problem = f"no VRPN server of version 07 answers at port {port}"
            raise InputError(problem, key="server", value=server, expected="a computer that streams VRPN")

    def wait_for(self, tracker: str, sensor: int) -> None:
        """Receive only poses of this tracker from now on; `InputError` where none comes."""
        sensors: set[int] = set()
        until = time.monotonic() + _ANSWER_S
        while (message := self._tcp.wait(until - time.monotonic())) is not None and time.monotonic() < until:
            self._note_name(message)
            if (name := self._tracker_of(message)) is None:
                continue
            pose = pose_of(message)
            if name == tracker and pose is not None:
                sensors.add(pose[2])
                if sensor in sensors:
                    self._tracker = tracker
                    return
        if sensors:
            known = ", ".join(map(str, sorted(sensors)))
            raise InputError("no such sensor", key="sensor", value=sensor, expected=f"one of {known}")
        names = sorted(self._names[_SENDER].values())
        known = one_of(tracker, names) if names else "a tracker: the server has none"
        problem = "no pose of it comes" if tracker in names else "no such tracker"
        raise InputError(
            problem, key="tracker", value=tracker, expected="a body in view" if tracker in names else known
        )

    def receive(self) -> bytes | None:
        """The next pose that has arrived, or None."""
        while (message := self._tcp.receive()) is not None:
            self._note_name(message)
            if self._tracker_of(message) == self._tracker:
                return message
        return None

    def close(self) -> None:
        """Close the connection."""
        self._tcp.close()

    def _size_of(self, received: bytes) -> int | None:
        if not self._has_cookie:
            self._has_cookie = len(received) >= len(_COOKIE)
            return len(_COOKIE) if self._has_cookie else None
        if len(received) < _HEADER.size:
            return None
        (length, *_) = _HEADER.unpack_from(received)
        return -(-length // _ALIGN) * _ALIGN if _HEADER.size <= length <= _LARGEST else 0

    def _note_name(self, message: bytes) -> None:
        _, _, _, number, kind, _ = _HEADER.unpack_from(message)
        if kind in self._names and len(self._names[kind]) < _LARGEST:
            text = message[_HEADER.size + 4 :].partition(b"\0")[0]
            self._names[kind][number] = text.decode("utf-8", "replace")

    def _tracker_of(self, message: bytes) -> str | None:
        """Name of the tracker whose pose the message has, or None."""
        _, _, _, sender, kind, _ = _HEADER.unpack_from(message)
        return self._names[_SENDER].get(sender, "") if self._names[_KIND].get(kind) == _POSES else None


def pose_of(
    message: bytes,
) -> tuple[int, int, int, tuple[float, float, float], tuple[float, float, float, float]] | None:
    """Time [s, us], sensor, position [m] and quaternion w x y z of a message; None if it is too short."""
    try:
        _, s, us, _, _, _ = _HEADER.unpack_from(message)
        sensor, x, y, z, qx, qy, qz, qw = _POSE.unpack_from(message, _HEADER.size)
    except error:
        return None
    return s, us, sensor, (x, y, z), (qw, qx, qy, qz)
