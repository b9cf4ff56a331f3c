"""The move of the free-flyer under changed conditions, and where it ends."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from granite.config.loader import load
from granite.config.records import Array
from granite.rt.run_in_memory import simulate_in_memory

#: pose of the base at the end of the move
TARGET = np.array([2.0, 1.3, np.pi / 2])


class Flight(NamedTuple):
    """A run in memory."""

    log: Any

    @property
    def summary(self) -> Any:
        """Of the run."""
        return self.log.summary

    @property
    def ended(self) -> str:
        """`completed`, or the reason."""
        return str(self.log.summary["ended"])

    def of(self, topic: str, entry: str) -> Array:
        """The values of an entry over time."""
        rows: Array = self.log.rows[:, self.log.channels.place(topic, entry)]
        return rows

    @property
    def error_m(self) -> float:
        """Distance of the base from its target at the end."""
        return float(np.hypot(*(self.of("/truth", "q")[-1, :2] - TARGET[:2])))

    @property
    def error_rad(self) -> float:
        """Heading error at the end."""
        return float(abs(self.of("/truth", "q")[-1, 2] - TARGET[2]))

    @property
    def impulse_n_s(self) -> float:
        """Of all thrusters."""
        return float(self.of("/truth", "thrust").sum() * 0.005)


def fly(*changes: str) -> Flight:
    """Run the free-flyer with changes as `--set` takes them."""
    return Flight(simulate_in_memory(load("free-flyer", list(changes))))
