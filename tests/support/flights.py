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
        rows: Array = self.log.rows[:, self.log.channels.columns(topic, entry)]
        return rows

    @property
    def _last(self) -> Array:
        """Errors of the pose in the last 5 s, as the summary judges them."""
        ticks = round(5.0 / self.log.bed.loop.period_s)
        errors: Array = self.of("/truth", "q")[-ticks:, :3] - TARGET
        return errors

    @property
    def error_m(self) -> float:
        """Largest distance of the base from its target in the last 5 s."""
        return float(np.hypot(*self._last[:, :2].T).max())

    @property
    def error_rad(self) -> float:
        """Largest heading error in the last 5 s."""
        return float(np.abs(self._last[:, 2]).max())

    @property
    def impulse_n_s(self) -> float:
        """Of all thrusters."""
        return float(self.of("/truth", "thrust").sum() * 0.005)


def fly(*changes: str) -> Flight:
    """Run the free-flyer with changes as `--set` takes them."""
    return Flight(simulate_in_memory(load("free-flyer", list(changes))))
