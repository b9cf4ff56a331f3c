"""A pose sensor whose poses come as messages: a camera's program, a motion-capture system, or the plant of a rehearsal.

In a testbed's file:

    [devices.vision]
    driver = { kind = "pose_stream", address = "udp://0.0.0.0:9870" }
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from granite.config.base import Angle, NotNegative
from granite.config.devices.device import Device
from granite.config.errors import InputError
from granite.config.parts import PartTable
from granite.config.records import Frame, Status, no_frame
from granite.config.testbed import Testbed
from granite.drivers.board.clock_map import ClockMap
from granite.drivers.contract import Sensor
from granite.drivers.link_history import LinkHistory
from granite.drivers.pose_stream.message import PoseMessage
from granite.drivers.pose_stream.sockets import Receiver, StreamReceiver, open_receiver

_UNITS = ["m", "m", "rad"]
#: messages that are read at one tick
_MOST_READ = 64
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


class PoseSensor(Sensor):
    """The pose of a body on the table: x [m], y [m], heading [rad], with the time of its exposure.

    A device that has them too, such as a camera, gets one standard deviation of each from the message, or those of its
    data sheet.

    The sender's clock is mapped to the loop's: a message that is read at a tick arrived after the tick before, and was
    sent `transport_s` earlier at most. These intervals bound the offset from both sides (`ClockMap`); the estimate is
    their later end, because messages take much less than `transport_s`. A tick that is late may read a message that
    was sent after its time, so its interval is longer by the delay.
    """

    def __init__(self, options: PoseOptions, body: str | None, name: str, bed: Testbed) -> None:
        device = bed.devices[name]
        assert isinstance(device, Device)
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
        self._receiver: Receiver | None = None
        self.counts, self.clock = StreamCounts(), ClockMap()
        self._history = LinkHistory(f"{options.kind.replace('_', ' ')} {name}", self._numbers)
        self._frame = no_frame(len(units))
        self._newest: PoseMessage | None = None
        self._before: float | None = None
        self._delay = 0.0

    def close(self) -> None:
        """Close the socket."""
        if self._receiver is not None:
            self._receiver.close()

    @property
    def link_history(self) -> LinkHistory:
        """What the stream counted over time."""
        return self._history

    def note_delay(self, delay: float) -> None:
        """Take down how late the tick is that reads next [s]."""
        self._delay = delay

    def read(self, t: float) -> Frame:
        """The newest pose that has arrived."""
        assert self._receiver is not None
        before, self._before = self._before, t
        for _ in range(_MOST_READ):  # not as long as some come: a flood would hold the tick
            if (received := self._receiver.receive()) is None:
                break
            if before is None:
                continue  # they waited since the socket was opened: when they came is not known
            message = self._message(received)
            if message is None or (message.is_tracked and not message.is_pose):
                self.counts.malformed += 1
            elif self._is_wanted(message):
                self._note_time(before, t, message)
                self._take(t, message)
        self._history.note(t)
        return self._frame

    def _message(self, received: bytes) -> PoseMessage | None:
        """The pose of received bytes; None if they are no message."""
        return PoseMessage.unpack(received)

    def _note_sender(self) -> None:
        """Take down that the last message was one of the body."""

    def _numbers(self) -> dict[str, float]:
        clock = self.clock
        return {
            **dataclasses.asdict(self.counts),
            "clock_offset_s": clock.offset_s,
            "clock_uncertainty_s": clock.uncertainty_s,
            "clock_drift": clock.drift,
            "clock_jumps": clock.jumps,
        }

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

    def _note_time(self, before: float, t: float, message: PoseMessage) -> None:
        """Bound the offset of the clocks by a message that arrived between two ticks, unless it was late."""
        if not self.clock.update(before - self._options.transport_s, t + self._delay, round(message.sent * 1e6)):
            self.counts.late += 1

    def _take(self, now: float, message: PoseMessage) -> None:
        (x, y, _), (c, s), (x0, y0) = message.position, self._turn, self._options.origin_m
        heading = message.heading + self._options.turn_rad
        last = self._frame
        if last.number:  # a heading within a half turn, continued over it
            turns = (last.values.item(2) - heading) / math.tau
            heading += math.tau * round(turns) if math.isfinite(turns) else 0.0
        # It may have come after the time of a tick that is late: not from the future, as far as the tick is concerned.
        t = min(self.clock.latest(round(message.exposed * 1e6)), now)
        if last.number:
            t = max(t, last.t)  # the estimate of the clock improves, and never turns time back by that
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
