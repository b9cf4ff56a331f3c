"""The message of a pose stream, as `docs/pose-stream.md` has it."""

from __future__ import annotations

import math
from struct import Struct
from typing import NamedTuple

MAGIC = b"GPOS"
#: without and with the deviations of the pose
VERSION, WITH_DEVIATION = 1, 2
#: flag: the body is seen; without it the pose is not used
TRACKED = 1
#: magic, version, flags, body, number, exposed, sent [s], position [m], quaternion w x y z
_MESSAGE = Struct("<4sHH16sQdd3d4d")
#: one standard deviation of x [m], y [m], heading [rad]
_DEVIATION = Struct("<3d")
SIZE = _MESSAGE.size
_SIZES = {VERSION: SIZE, WITH_DEVIATION: SIZE + _DEVIATION.size}
_LONGEST_NAME = 16
#: times beyond this are no times: 285 years, in which a float counts every microsecond [s]
_LATEST = 2**53 * 1e-6
#: the norm of a quaternion differs from 1 by at most this
_NORM_TOLERANCE = 0.01


class PoseMessage(NamedTuple):
    """One pose. Times are of the sender's clock [s]."""

    body: str
    number: int  #: counted by the sender
    exposed: float  #: when the pose was true
    sent: float  #: when the message was sent
    position: tuple[float, float, float]  #: [m]
    quaternion: tuple[float, float, float, float]  #: w, x, y, z: of the body in the frame of the stream
    is_tracked: bool = True
    #: one standard deviation of x [m], y [m], heading [rad]; None: the sender does not know
    deviation: tuple[float, float, float] | None = None

    @property
    def heading(self) -> float:
        """Rotation about z [rad], within a half turn (yaw of the sequence z, y, x)."""
        w, x, y, z = self.quaternion
        return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))

    @property
    def is_pose(self) -> bool:
        """Whether the quaternion is one of a rotation; one that is not finite is left to the guard."""
        return not abs(math.hypot(*self.quaternion) - 1.0) > _NORM_TOLERANCE

    def turned_upright(self) -> PoseMessage:
        """The same in axes with z upwards, of a stream with y upwards: x, -z, y."""
        (x, y, z), (qw, qx, qy, qz) = self.position, self.quaternion
        return self._replace(position=(x, -z, y), quaternion=(qw, qx, -qz, qy))

    def pack(self) -> bytes:
        """The bytes to send.

        Raises
        ------
        ValueError
            Where the name of the body is longer than 16 bytes.
        """
        name = self.body.encode()
        if len(name) > _LONGEST_NAME:
            raise ValueError(f"body '{self.body}' has more than {_LONGEST_NAME} bytes")
        version = VERSION if self.deviation is None else WITH_DEVIATION
        head = MAGIC, version, TRACKED * self.is_tracked, name, self.number, self.exposed, self.sent
        packed = _MESSAGE.pack(*head, *self.position, *self.quaternion)
        return packed if self.deviation is None else packed + _DEVIATION.pack(*self.deviation)

    @classmethod
    def planar(
        cls,
        body: str,
        number: int,
        exposed: float,
        sent: float,
        pose: tuple[float, float, float],
        deviation: tuple[float, float, float] | None = None,
    ) -> PoseMessage:
        """The message of a body on the table: x [m], y [m], heading [rad]."""
        x, y, heading = pose
        quaternion = math.cos(heading / 2), 0.0, 0.0, math.sin(heading / 2)
        return cls(body, number, exposed, sent, (x, y, 0.0), quaternion, deviation=deviation)

    @classmethod
    def unpack(cls, received: bytes) -> PoseMessage | None:
        """The pose of received bytes; None if they are no message of this version."""
        if len(received) not in _SIZES.values():
            return None
        magic, version, flags, name, number, exposed, sent, *pose = _MESSAGE.unpack_from(received)
        if magic != MAGIC or len(received) != _SIZES.get(version):
            return None
        if not (abs(exposed) <= _LATEST and abs(sent) <= _LATEST):
            return None
        body = name.partition(b"\0")[0].decode("utf-8", "replace")
        x, y, z, qw, qx, qy, qz = pose
        deviation = _DEVIATION.unpack_from(received, SIZE) if version == WITH_DEVIATION else None
        return cls(body, number, exposed, sent, (x, y, z), (qw, qx, qy, qz), bool(flags & TRACKED), deviation)
