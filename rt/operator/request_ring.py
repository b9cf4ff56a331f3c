"""Requests from another process to the loop: a ring of shared memory, at which the loop looks once in a tick."""

from __future__ import annotations

from collections import deque
from itertools import islice
from struct import Struct

from granite.config.run_modes import Request, RequestKind
from granite.rt.process.ring import Ring

#: requests that may wait, and numbers of one: ask, sender, argument, value, number
_WAITING, _WIDTH = 64, 5
_pack = Struct(f"{_WIDTH}d").pack


class RequestRing:
    """One end of it: the loop's by `create`, the other process's by the descriptor, or inherited by a fork."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        #: senders of the newest requests, on the side that puts them
        self._senders: deque[int] = deque(maxlen=_WAITING)

    @classmethod
    def create(cls) -> RequestRing:
        """A new, empty one."""
        return cls(Ring.create(_WAITING, _WIDTH))

    @classmethod
    def of(cls, descriptor: int) -> RequestRing:
        """The one that the loop created."""
        return cls(Ring(descriptor, _WAITING, _WIDTH))

    @property
    def descriptor(self) -> int:
        """Of the shared memory."""
        return self._ring.descriptor

    def put(self, request: Request, share: int = _WAITING) -> bool:
        """Send a request; false where too many wait, or `share` of the same sender. One thread at a time."""
        waiting = islice(reversed(self._senders), self._ring.waiting)
        if sum(sender == request.sender for sender in waiting) >= share or not self._ring.put(_pack(*request)):
            return False
        self._senders.append(request.sender)
        return True

    def take(self) -> Request | None:
        """The next request, if one waits; called in the tick, so fast."""
        if not self._ring.waiting:
            return None
        ask, sender, argument, value, number = self._ring.take(1)[0].tolist()
        return Request(RequestKind(int(ask)), int(sender), int(argument), value, int(number))

    def close(self) -> None:
        """Release the memory."""
        self._ring.close()
