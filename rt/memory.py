"""Rows kept in memory instead of a file: for tuning, tests and measurements."""

from __future__ import annotations

import numpy as np

from config.records import Array
from rt.channels import Channels


class Memory:
    """Takes the rows of a run of known length."""

    def __init__(self, channels: Channels, ticks: int) -> None:
        self.row: Array = np.zeros(channels.width)
        self._rows = np.zeros((ticks, channels.width))
        self._n = 0

    def record(self) -> int:
        """Keep the row; none is ever lost."""
        self._rows[self._n] = self.row
        self._n += 1
        return 0

    @property
    def rows(self) -> Array:
        """All rows so far."""
        return self._rows[: self._n]
