"""Board time to loop time: bounds of offset and drift from the intervals in which samples must have been taken.

A sample is taken after its command was sent and before its report was received. So each exchange bounds

    y = loop time - board time        sent - board <= y <= received - board

and the bounds of all exchanges so far intersect, after those of the past have been moved by the bounds of the drift
dy/ds. Nothing is assumed about the distribution of the delay: the true offset is inside its bounds as long as the
drift is (set-membership estimation; Marzullo and Owicki, *Maintaining the Time in a Distributed System*, 1983).
An exchange outside of the bounds is not used: a process was suspended between the time that was noted for a message
and the message. Several of them in a row mean that a clock jumped: the estimate starts again, and the jump is counted.
"""

from __future__ import annotations

from typing import NamedTuple

#: greatest drift of a clock against another: crystals have 1e-4 at most
DRIFT_LIMIT = 2e-4
#: how fast a drift may change, with temperature [1/s]
_WANDER = 1e-7
#: so many exchanges in a row outside of the bounds mean that a clock jumped
_JUMP = 5
#: shortest time between the two ends from which drift is bounded [s]
_BASELINE_S = 10.0
#: how often that is done: within this time a drift changes by 1e-8 [s]
_DRIFT_EVERY_S = 0.1


class _Bounds(NamedTuple):
    """Bounds of y [s] at board time s [s]."""

    s: float
    low: float
    high: float


class ClockMap:
    """The offset and the drift of one board's clock.

    Attributes
    ----------
    jumps : int
        How often the clocks contradicted each other.
    """

    def __init__(self) -> None:
        self.jumps = self._outside = 0
        self._origin_us: int | None = None
        self._now = self._old = self._young = _Bounds(0.0, 0.0, 0.0)
        self._drift_low, self._drift_high = -DRIFT_LIMIT, DRIFT_LIMIT
        self._drift_at = 0.0

    def update(self, sent: float, received: float, board_us: int) -> bool:
        """Take in one exchange; False if it was outside of the bounds and was not used.

        Parameters
        ----------
        sent, received
            Loop times of the command and of its report [s].
        board_us
            Board time of the sample between them [us].
        """
        if self._origin_us is None:
            self._origin_us = board_us
            self._restart(_Bounds(0.0, sent, received))
            return True
        before = self._now
        s = (board_us - self._origin_us) * 1e-6
        elapsed = max(s - before.s, 0.0)
        low = max(before.low + self._drift_low * elapsed, sent - s)
        high = min(before.high + self._drift_high * elapsed, received - s)
        if low > high:
            self._outside += 1
            if self._outside < _JUMP:
                return False
            self.jumps += 1
            self._restart(_Bounds(s, sent - s, received - s))
            return True
        self._now, self._outside = _Bounds(s, low, high), 0
        if s - self._drift_at >= _DRIFT_EVERY_S:
            self._bound_drift(s - self._drift_at)
            self._drift_at = s
        return True

    def loop_time(self, board_us: int) -> float:
        """Loop time of a board time near the newest exchange [s]."""
        s = (board_us - (self._origin_us or 0)) * 1e-6
        return s + 0.5 * (self._now.low + self._now.high) + self.drift * (s - self._now.s)

    def earliest(self, board_us: int) -> float:
        """The earliest loop time that the bounds allow [s].

        In a loop a report is received a tick after its command was sent, though it was sampled soon after: there the
        truth is near this end, later by the time from the begin of a tick to its `write` and by that on the line.
        """
        s = (board_us - (self._origin_us or 0)) * 1e-6
        return s + self._now.low + self.drift * (s - self._now.s)

    def latest(self, board_us: int) -> float:
        """The latest loop time that the bounds allow [s].

        The truth is near this end where a message is received soon after it was sent.
        """
        s = (board_us - (self._origin_us or 0)) * 1e-6
        return s + self._now.high + self.drift * (s - self._now.s)

    @property
    def offset_s(self) -> float:
        """Loop time less board time at the newest exchange, the middle of its bounds [s]; NaN before the first."""
        if self._origin_us is None:
            return float("nan")
        return 0.5 * (self._now.low + self._now.high) - self._origin_us * 1e-6

    @property
    def uncertainty_s(self) -> float:
        """Half the distance between the bounds of the offset [s]."""
        return 0.5 * (self._now.high - self._now.low)

    @property
    def drift(self) -> float:
        """Loop seconds per board second, less one."""
        return 0.5 * (self._drift_low + self._drift_high)

    @property
    def drift_uncertainty(self) -> float:
        """Half the distance between the bounds of the drift."""
        return 0.5 * (self._drift_high - self._drift_low)

    def _restart(self, bounds: _Bounds) -> None:
        self._now = self._old = self._young = bounds
        self._outside, self._drift_at = 0, bounds.s
        self._drift_low, self._drift_high = -DRIFT_LIMIT, DRIFT_LIMIT

    def _bound_drift(self, elapsed: float) -> None:
        """Two ends of a baseline bound the slope between them."""
        now = self._now
        low, high = self._drift_low - _WANDER * elapsed, self._drift_high + _WANDER * elapsed
        baseline = now.s - self._old.s
        if baseline > _BASELINE_S:
            low = max(low, (now.low - self._old.high) / baseline)
            high = min(high, (now.high - self._old.low) / baseline)
        if low <= high:
            self._drift_low, self._drift_high = low, high
        if now.s - self._young.s > _BASELINE_S:
            self._old, self._young = self._young, now
