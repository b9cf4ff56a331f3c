"""Requests of operators to the loop by urgency: a lane is a ring, and the loop takes from the first that is not empty.

Other requests never delay a stop, for they have another lane. Where a lane is full of stops, the run stops anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from granite.config.run_modes import Request, RequestKind
from granite.rt.operator.request_ring import RequestRing

#: lanes of urgent requests, a report being that of a lost operator; all others have the last one
_URGENT = {RequestKind.EMERGENCY_STOP: 0, RequestKind.STOP: 1, RequestKind.REPORT: 1}
_LANES = 3
#: requests of one operator that may wait in a lane: an eighth of it, so that nobody fills it alone
SHARE = 8


class RequestLanes:
    """One end of them: the loop's by `create`, the channel's by the descriptors."""

    def __init__(self, rings: Sequence[RequestRing]) -> None:
        self._rings = tuple(rings)

    @classmethod
    def create(cls, numbers: int = 0) -> RequestLanes:
        """New, empty ones; only the last lane has requests with numbers of a goal."""
        return cls([RequestRing.create(numbers if i == _LANES - 1 else 0) for i in range(_LANES)])

    @classmethod
    def of(cls, descriptors: Sequence[int], numbers: int = 0) -> RequestLanes:
        """Those that the loop created."""
        last = len(descriptors) - 1
        return cls([RequestRing.of(one, numbers if i == last else 0) for i, one in enumerate(descriptors)])

    @property
    def descriptors(self) -> list[int]:
        """Of the shared memory of each lane."""
        return [ring.descriptor for ring in self._rings]

    def put(self, request: Request) -> bool:
        """Send a request; false where too many of its sender wait in its lane."""
        return self._rings[_URGENT.get(request.ask, _LANES - 1)].put(request, SHARE)

    def has_room(self, sender: int) -> bool:
        """Whether a request of a sender that is not urgent may wait."""
        return self._rings[-1].waiting_of(sender) < SHARE

    def take(self) -> Request | None:
        """The most urgent request, if one waits; called in the tick, so fast."""
        for ring in self._rings:
            if request := ring.take():
                return request
        return None

    def close(self) -> None:
        """Release the memory."""
        for ring in self._rings:
            ring.close()
