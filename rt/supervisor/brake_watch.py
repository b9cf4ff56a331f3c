"""The watch of a brake: a rate that grows while it should fall is that of an actuator which acts the wrong way.

Motors with a wrong sign, exchanged or wrongly scaled ones turn a brake into a drive. Above its limit a rate may neither
reach `_MOST` times that, nor stay above the lowest one of the brake for longer than `_GROWS_S`.
"""

from __future__ import annotations

from typing import NamedTuple

#: greatest estimated rate in a brake, as a multiple of its limit; of a wrong actuator the true one is ahead of it
_MOST = 1.4
#: growth that counts, as a part of the limit, and how long it may last [s]: a tick or two pass until a brake acts
_GROWTH, _GROWS_S = 0.05, 0.025


class RateHistory(NamedTuple):
    """A rate that is above its limit."""

    #: when it was above its limit last, and how much it was then [s; m/s or rad/s]
    t: float
    last: float
    #: lowest one of the brake, and when it was last not above that [m/s or rad/s; s]
    lowest: float
    falling_at: float


class BrakeWatch:
    """The rates that are above their limits, by their subject in the verdict."""

    def __init__(self) -> None:
        self._rates: dict[int, RateHistory] = {}

    def begin(self, t: float) -> None:
        """A brake begins: rates may be what they are now."""
        self._rates = {subject: RateHistory(rate.t, rate.last, rate.last, t) for subject, rate in self._rates.items()}

    def grows(self, t: float, subject: int, value: float, limit: float) -> bool:
        """Whether a rate above its limit shows that the brake drives it; called once in a tick for each."""
        rate, most = abs(value), abs(limit)
        before = self._rates.get(subject)
        if before is None or t - before.t > _GROWS_S:  # it was below its limit in between
            before = RateHistory(t, rate, rate, t)
        lowest = min(before.lowest, rate)
        falling_at = t if rate <= lowest + _GROWTH * most else before.falling_at
        self._rates[subject] = RateHistory(t, rate, lowest, falling_at)
        next_rate = rate + max(rate - before.last, 0.0)
        return next_rate > _MOST * most or t - falling_at >= _GROWS_S
