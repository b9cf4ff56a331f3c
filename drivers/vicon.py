"""An object that a motion-capture system of Vicon tracks (UDP object stream of Tracker), as a pose sensor.

In a testbed's file:

    [devices.vision]
    driver = { kind = "vicon", object = "base", rate_hz = 100.0, processing_s = 0.006 }

The stream has no time: that of a frame is its number over the rate of the cameras.
"""

from __future__ import annotations

import math
import time
from struct import Struct, error
from typing import Annotated, NamedTuple

from pydantic import Field

from granite.config.base import Rate
from granite.config.errors import InputError, one_of
from granite.config.testbed import Testbed
from granite.drivers.pose_stream.device import MocapOptions, PoseSensor
from granite.drivers.pose_stream.message import PoseMessage
from granite.drivers.pose_stream.sockets import StreamReceiver, open_receiver

#: number, items
_BLOCK = Struct("<IB")
#: kind, bytes that follow
_ITEM = Struct("<BH")
#: name, position [mm], rotation about x, then the new y, then the new z [rad]
_OBJECT = Struct("<24s3d3d")
_IS_OBJECT = 0
#: for the object to come at opening [s]
_FRAME_S, _PAUSE_S = 1.0, 0.001


class TrackedObject(NamedTuple):
    """An object in a frame."""

    position: tuple[float, float, float]  #: [m]
    quaternion: tuple[float, float, float, float]  #: w, x, y, z


class Vicon(PoseSensor):
    """The pose of an object of Vicon Tracker."""

    class Options(MocapOptions):
        """Object, rate and frame."""

        #: name of the object, at most 24 bytes
        object: str
        #: frames a second of the cameras
        rate_hz: Rate
        #: the address of this computer that Tracker sends to
        interface: str = "0.0.0.0"
        #: and its port
        port: Annotated[int, Field(gt=0, lt=65536)] = 51001

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        super().__init__(options, options.object, name, bed)
        self._vicon = options
        self._stream: StreamReceiver | None = None

    def open(self) -> None:
        """Open the socket, and wait for the object."""
        options = self._vicon
        try:
            self._receiver = self._stream = open_receiver(f"udp://{options.interface}:{options.port}")
        except InputError as refused:
            raise InputError(
                refused.problem, key="interface", value=options.interface, expected=refused.expected
            ) from refused
        names: set[str] = set()
        until = time.monotonic() + _FRAME_S
        while time.monotonic() < until and options.object not in names:
            frame = objects_of(self._stream.receive() or b"")
            if frame is None:
                time.sleep(_PAUSE_S)
            else:
                names |= set(frame[1])
        if options.object in names:
            return
        self.close()
        if names:
            expected = one_of(options.object, sorted(names))
            raise InputError("no such object in the stream", key="object", value=options.object, expected=expected)
        problem = f"no frame comes at port {options.port}"
        raise InputError(problem, key="interface", value=options.interface, expected="the UDP object stream of Tracker")

    @property
    def identity(self) -> str:
        """The object, and where its stream comes."""
        return f"object '{self._body}' of Vicon Tracker at port {self._vicon.port}"

    def _note_sender(self) -> None:
        assert self._stream is not None
        self._stream.listen_to_sender()

    def _message(self, received: bytes) -> PoseMessage | None:
        frame = objects_of(received)
        if frame is None:
            return None
        number, objects = frame
        exposed = number / self._vicon.rate_hz
        sent = exposed + self._vicon.processing_s
        seen = objects.get(self._vicon.object)
        if seen is None or not any(seen.position):  # an object that is not seen has zeros, or is left out
            return PoseMessage(self._body, number, exposed, sent, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), False)
        message = PoseMessage(self._body, number, exposed, sent, *seen)
        return message.turned_upright() if self._vicon.up == "y" else message


def objects_of(packet: bytes) -> tuple[int, dict[str, TrackedObject]] | None:
    """Number of the frame, and its objects by name; None if the packet is damaged. Zeros may follow the last item."""
    objects = {}
    try:
        number, items = _BLOCK.unpack_from(packet)
        at = _BLOCK.size
        for _ in range(items):
            kind, size = _ITEM.unpack_from(packet, at)
            at += _ITEM.size
            if kind == _IS_OBJECT:
                name, x, y, z, *rotation = _OBJECT.unpack_from(packet, at)
                text = name.partition(b"\0")[0].decode("utf-8", "replace")
                objects[text] = TrackedObject((x * 1e-3, y * 1e-3, z * 1e-3), quaternion_of(*rotation))
            at += size
    except error:
        return None
    return (number, objects) if at <= len(packet) else None


def quaternion_of(a: float, b: float, c: float) -> tuple[float, float, float, float]:
    """Rotation about x by a, then the new y by b, then the new z by c [rad]."""
    if not all(map(math.isfinite, (a, b, c))):
        return (math.nan,) * 4
    (p, s), (q, t), (r, u) = ((math.cos(angle / 2), math.sin(angle / 2)) for angle in (a, b, c))
    return (
        p * q * r - s * t * u,
        s * q * r + p * t * u,
        p * t * r - s * q * u,
        p * q * u + s * t * r,
    )
