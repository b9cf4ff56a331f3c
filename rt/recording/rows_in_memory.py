"""Rows kept in memory instead of a file: for tuning, tests and measurements."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.logs.channels import Channels


class Memory:
    """Stores the rows of a run of known length."""

    def __init__(self, channels: Channels, ticks: int) -> None:
        self._rows = np.zeros((ticks, channels.width))
        self._bytes, self._size = self._rows.data.cast("B"), 8 * channels.width
        self._n = 0

    def record(self, row: bytes) -> int:
        """Keep the row; none is ever lost."""
        at = self._n * self._size
        self._bytes[at : at + self._size] = row
        self._n += 1
        return 0

    @property
    def rows(self) -> Array:
        """All rows so far."""
        return self._rows[: self._n]
