"""What a board reports in each tick."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite.drivers.board.wire import ARMED, EMERGENCY_STOP, LIMITED, REPORT

#: of channels, on the wire
COUNT = np.dtype("<i4")


class Report(NamedTuple):
    """The payload of a `REPORT` frame. Times are board times [us]."""

    time_us: int  #: when the sensors were sampled
    commanded_us: int  #: newest accepted command, modulo 2^32
    latched_us: int  #: when outputs were last made safe, modulo 2^32
    latch: int  #: number of that time: begins at random
    flags: int
    reason: int  #: of the newest latch, a code of `LatchReason`
    damaged: int
    missed: int
    refused: int
    late_us: int
    slots: NDArray[np.int32]  #: one count for each channel

    @property
    def is_armed(self) -> bool:
        """Outputs act."""
        return bool(self.flags & ARMED)

    @property
    def is_emergency_stop_pressed(self) -> bool:
        """The board's own input."""
        return bool(self.flags & EMERGENCY_STOP)

    @property
    def is_limited(self) -> bool:
        """A set point of the newest command was out of its channel's range."""
        return bool(self.flags & LIMITED)

    @classmethod
    def unpack(cls, payload: bytes) -> Report:
        """From the payload of a `REPORT` frame."""
        return cls._make((*REPORT.unpack_from(payload), np.frombuffer(payload, COUNT, -1, REPORT.size)))
