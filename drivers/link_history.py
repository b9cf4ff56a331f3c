"""What a link to a device counted, and its clock, from time to time and at the end: for the log.

Once a second at first. Of a long run every second entry is dropped and the time between two is doubled, whenever there
are too many: memory does not grow with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

_PERIOD_S = 1.0
#: so many are kept at most
_LONGEST = 512

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
        #: the newest numbers and their time [s], once a second however long the run
        self.latest: tuple[float, LinkNumbers] | None = None
        self._due = self._kept_due = -float("inf")
        self._period = _PERIOD_S

    def note(self, t: float) -> None:
        """Called in every tick; takes them down once a second, and keeps those of each period [s]."""
        if t >= self._due:
            self._due, self.latest = t + _PERIOD_S, (t, self._numbers())
            if t >= self._kept_due:
                self._rows.append(self.latest)
                if len(self._rows) > _LONGEST:
                    del self._rows[1::2]
                    self._period *= 2
                self._kept_due = t + self._period

    def summary(self) -> dict[str, list[float]]:
        """Each number as a list over `t_s`; the last ones are of the end."""
        rows = [*self._rows, (self._rows[-1][0] if self._rows else 0.0, self._numbers())]
        return {"t_s": [t for t, _ in rows], **{key: [numbers[key] for _, numbers in rows] for key in rows[-1][1]}}
