"""What a link to a device counted, and its clock, once a second and at the end: for the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping

_PERIOD_S = 1.0
#: so many are kept; the oldest go first
_LONGEST = 3600

#: names as in a log, with their units
LinkNumbers = Mapping[str, float]


class LinkHistory:
    """The numbers of a link over time.

    Parameters
    ----------
    name
        Of the link, such as its port.
    numbers
        Gives the present ones.
    """

    def __init__(self, name: str, numbers: Callable[[], LinkNumbers]) -> None:
        self.name, self._numbers = name, numbers
        self._rows: list[tuple[float, LinkNumbers]] = []
        self._due = -float("inf")

    def note(self, t: float) -> None:
        """Called in every tick; takes them down once a second [s]."""
        if t >= self._due:
            self._due = t + _PERIOD_S
            self._rows.append((t, self._numbers()))
            del self._rows[:-_LONGEST]

    def summary(self) -> dict[str, list[float]]:
        """Each number as a list over `t_s`; the last ones are of the end."""
        rows = [*self._rows, (self._rows[-1][0] if self._rows else 0.0, self._numbers())]
        return {"t_s": [t for t, _ in rows], **{key: [numbers[key] for _, numbers in rows] for key in rows[-1][1]}}
