"""Requests from another process to the loop: a ring of shared memory, at which the loop looks once in a tick."""

from __future__ import annotations

from collections import deque
from itertools import islice
from struct import Struct

from granite.config.run_modes import Request, RequestKind
from granite.rt.process.ring import Ring

#: requests that may wait, and numbers of one before those of a goal: ask, sender, argument, value, number
_WAITING, _WIDTH = 64, 5


class RequestRing:
    """One end of it: the loop's by `create`, the other process's by the descriptor, or inherited by a fork."""

    def __init__(self, ring: Ring, numbers: int = 0) -> None:
        self._ring, self._numbers = ring, numbers
        self._pack = Struct(f"{_WIDTH + numbers}d").pack
        #: senders of the newest requests, on the side that puts them
        self._senders: deque[int] = deque(maxlen=_WAITING)

    @classmethod
    def create(cls, numbers: int = 0) -> RequestRing:
        """A new, empty one, for requests with at most so many numbers of a goal."""
        return cls(Ring.create(_WAITING, _WIDTH + numbers), numbers)

    @classmethod
    def of(cls, descriptor: int, numbers: int = 0) -> RequestRing:
        """The one that the loop created."""
        return cls(Ring(descriptor, _WAITING, _WIDTH + numbers), numbers)

    @property
    def descriptor(self) -> int:
        """Of the shared memory."""
        return self._ring.descriptor

    def put(self, request: Request, share: int = _WAITING) -> bool:
        """Send a request; false where too many wait, or `share` of the same sender. One thread at a time."""
        if self.waiting_of(request.sender) >= share:
            return False
        *usual, numbers = request
        if not self._ring.put(self._pack(*usual, *numbers, *[0.0] * (self._numbers - len(numbers)))):
            return False
        self._senders.append(request.sender)
        return True

    def waiting_of(self, sender: int) -> int:
        """How many requests of a sender wait, on the side that puts them."""
        return sum(one == sender for one in islice(reversed(self._senders), self._ring.waiting))

    def take(self) -> Request | None:
        """The next request, if one waits; called in the tick, so fast."""
        if not self._ring.waiting:
            return None
        ask, sender, argument, value, number, *numbers = self._ring.take(1)[0].tolist()
        return Request(RequestKind(int(ask)), int(sender), int(argument), value, int(number), tuple(numbers))

    def close(self) -> None:
        """Release the memory."""
        self._ring.close()
