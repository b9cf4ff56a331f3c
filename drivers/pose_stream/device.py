"""A pose sensor whose poses come as messages: a camera's program, a motion-capture system, or the plant of a rehearsal.

In a testbed's file:

    [devices.vision]
    driver = { kind = "pose_stream", address = "udp://0.0.0.0:9870" }
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Angle, NotNegative
from granite.config.devices.device import Device
from granite.config.errors import InputError
from granite.config.parts import PartTable
from granite.config.records import Frame, Status
from granite.config.testbed import Testbed
from granite.drivers.board.clock_map import ClockMap
from granite.drivers.pose_stream.message import PoseMessage
from granite.drivers.pose_stream.sockets import StreamReceiver, open_receiver
from granite.drivers.timed_stream import TimedStream

_UNITS = ["m", "m", "rad"]
#: after this time without a message the stream may come from another address [s]
_SENDER_LOST_S = 1.0
#: a number that goes back by more than this is of a sender that was started again
_REORDERED = 1000


@dataclass
class StreamCounts:
    """What happened to the stream so far."""

    received: int = 0
    malformed: int = 0  #: no message of this version
    other_body: int = 0
    untracked: int = 0  #: the sender did not see the body
    repeated: int = 0  #: or out of order
    missed: int = 0  #: numbers that never came
    late: int = 0  #: beyond `transport_s`
    restarts: int = 0  #: of the sender


class PoseOptions(PartTable):
    """The frame of a stream on the table, and how late its messages may be."""

    #: longest time from sending to arrival
    transport_s: NotNegative = 0.005
    #: where the origin of the stream's frame is on the table
    origin_m: tuple[float, float] = (0.0, 0.0)
    #: and how it is turned
    turn_rad: Angle = 0.0


class MocapOptions(PoseOptions):
    """Those of a motion-capture system whose packets have the time of the exposure, but not that of transmission."""

    #: from the middle of the exposure to transmission: measured, or as the system's software displays it
    processing_s: Annotated[float, Field(ge=0, le=1)]
    #: the axis that the stream has upwards
    up: Literal["y", "z"] = "z"


class PoseSensor(TimedStream):
    """The pose of a body on the table: x [m], y [m], heading [rad], with the time of its exposure.

    A device that has them too, such as a camera, gets one standard deviation of each from the message, or those of its
    data sheet.
    """

    def __init__(self, options: PoseOptions, body: str | None, name: str, bed: Testbed) -> None:
        super().__init__(f"{options.kind.replace('_', ' ')} {name}", StreamCounts(), options.transport_s, name, bed)
        device = self._device
        units = [signal.unit for signal in device.signals(bed)]
        if device.role != "sensor" or units not in (_UNITS, 2 * _UNITS):
            expected = "a device that measures x [m], y [m] and heading [rad], such as vision"
            raise InputError("a pose stream has no such signals", key="kind", value=options.kind, expected=expected)
        self._body = body or body_name(device, bed)
        #: of poses whose message has none; None for a device without deviations
        self._deviation: tuple[float, float, float] | None = None
        if len(units) > len(_UNITS):
            noise = getattr(device, "position_noise_m", math.nan), getattr(device, "heading_noise_rad", math.nan)
            self._deviation = noise[0], *noise
        self._options = options
        self._turn = math.cos(options.turn_rad), math.sin(options.turn_rad)
        self._newest: PoseMessage | None = None

    def _accept(self, before: float, now: float, received: bytes) -> None:
        message = self._message(received)
        if message is None or (message.is_tracked and not message.is_pose):
            self.counts.malformed += 1
        elif self._is_wanted(message):
            self._note_time(before, now, round(message.sent * 1e6))
            self._take(now, message)

    def _message(self, received: bytes) -> PoseMessage | None:
        """The pose of received bytes; None if they are no message."""
        return PoseMessage.unpack(received)

    def _note_sender(self) -> None:
        """Take down that the last message was one of the body."""

    def _is_wanted(self, message: PoseMessage) -> bool:
        """Whether it is a newer pose of the body; counts it otherwise."""
        counts, newest = self.counts, self._newest
        if message.body != self._body:
            counts.other_body += 1
            return False
        if newest is not None:
            ahead = message.number - newest.number
            if -_REORDERED < ahead <= 0:
                counts.repeated += 1
                return False
            if ahead < 0:
                counts.restarts += 1
                self.clock = ClockMap()
            else:
                counts.missed += ahead - 1
        self._note_sender()
        self._newest = message
        if newest is not None and newest.is_tracked and message.exposed == newest.exposed:  # again, under a new number
            counts.repeated += 1
            return False
        counts.received += 1
        if not message.is_tracked:
            counts.untracked += 1
        return message.is_tracked

    def _take(self, now: float, message: PoseMessage) -> None:
        (x, y, _), (c, s), (x0, y0) = message.position, self._turn, self._options.origin_m
        heading = message.heading + self._options.turn_rad
        last = self._frame
        if last.number:  # a heading within a half turn, continued over it
            turns = (last.values.item(2) - heading) / math.tau
            heading += math.tau * round(turns) if math.isfinite(turns) else 0.0
        t = self._time_of(round(message.exposed * 1e6), now)
        values = np.array([x0 + c * x - s * y, y0 + s * x + c * y, heading])
        if self._deviation:
            dx, dy, turn = message.deviation or self._deviation
            values = np.append(values, (math.hypot(c * dx, s * dy), math.hypot(s * dx, c * dy), turn))
        self._frame = Frame(t, last.number + 1, Status.OK, values)


def body_name(device: Device, bed: Testbed) -> str:
    """The name of the measured body in the messages, where the driver gives no other."""
    return device.signals(bed)[0].name.removesuffix("_x")


class PoseStream(PoseSensor):
    """Poses in the messages of `docs/pose-stream.md`."""

    class Options(PoseOptions):
        """Where the stream is, and its frame."""

        #: udp://HOST:PORT of this computer, or tcp://HOST:PORT and ipc://FILE of a ZeroMQ publisher
        address: str
        #: name of the body in the messages; none: that of the testbed
        body: str | None = None
        #: public CURVE key of a ZeroMQ publisher, in Z85: poses of others are not received
        public_key: Annotated[str, Field(pattern=r"^[!-~]{40}$")] | None = None

        @model_validator(mode="after")
        def _keys_are_of_zeromq(self) -> Self:
            if self.public_key and self.address.startswith("udp://"):
                raise InputError(key="public_key", value=self.public_key, expected="a ZeroMQ address with it")
            return self

    def __init__(self, options: Options, name: str, bed: Testbed) -> None:
        super().__init__(options, options.body, name, bed)
        self._address, self._public_key = options.address, options.public_key
        self._stream: StreamReceiver | None = None
        #: when a message of the body came last, and whether one came in this tick
        self._heard, self._was_heard = -math.inf, False

    def open(self) -> None:
        """Open the socket."""
        self._receiver = self._stream = open_receiver(self._address, self._public_key)

    def read(self, t: float) -> Frame:
        """The newest pose that has arrived from the sender that was first."""
        assert self._stream is not None
        if t - self._heard > _SENDER_LOST_S:
            self._stream.listen_to_all()
        frame = super().read(t)
        if self._was_heard:
            self._heard, self._was_heard = t, False
        return frame

    def _note_sender(self) -> None:
        assert self._stream is not None
        self._was_heard = True
        self._stream.listen_to_sender()

    @property
    def identity(self) -> str:
        """Where it listens, and for what."""
        return f"body '{self._body}' at {self._address}"
