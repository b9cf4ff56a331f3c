"""Which request an answer of a servo belongs to, by the servo's counter of milliseconds; protocol 2.0 has no number.

Every sample follows its request, which is at least the oldest one without an answer:

    loop time - counter >= time of that request - counter

The largest of these bounds so far is close to the truth, because a servo answers at once; it falls by the drift that
crystals have at most. So an answer that an adapter holds back keeps the time of its request, and a lost one shifts none
of the others.
"""

from __future__ import annotations

import math
from collections import deque

from granite.drivers.board.clock_map import DRIFT_LIMIT

#: an answer that is later than this does not come any more [s]
_MEMORY_S = 10.0
#: the counter goes from 0 to 32767 [ms]
_TURN = 1 << 15
_COUNT_S = 1e-3


class RequestClock:
    """Requests to a servo that are not answered yet, and its counter.

    Parameters
    ----------
    period_s
        From one request to the next.
    silent_s
        A servo that has not answered for so long since the first request answers the newest one first.
    """

    def __init__(self, period_s: float, silent_s: float) -> None:
        self._period_s, self._silent_s = period_s, silent_s
        self._open: deque[tuple[int, float]] = deque()
        self._counts: int | None = None
        self._s, self._low = 0.0, -math.inf
        self._was_silent = False
        #: the counter may be the same where a tick takes less than two counts
        self._least = 1 if period_s >= 2 * _COUNT_S else 0

    def add(self, request: int, t: float) -> None:
        """Take down a request that is sent now [s]."""
        self._open.append((request, t))
        age = t - self._open[0][1]
        self._was_silent |= age > self._silent_s
        if self._counts is None and self._was_silent:
            self._open = deque([(request, t)])
        elif age > _MEMORY_S:
            self._open.popleft()

    def request_of(self, counts: int) -> tuple[int, float] | None:
        """The request that an answer with this counter belongs to, and its time [s]; None: an answer from before."""
        steps = 1 if self._counts is None else (counts - self._counts + _TURN // 2) % _TURN - _TURN // 2
        if not self._open or steps < self._least:
            return None
        self._counts, self._s = counts, self._s + steps * _COUNT_S
        oldest = self._open[0][1] - self._s
        self._low = max(self._low - DRIFT_LIMIT * steps * _COUNT_S, oldest)
        sampled = self._s + self._low
        found = self._open.popleft()
        while self._open and self._open[0][1] <= sampled + self._period_s / 2:
            found = self._open.popleft()
        return found
