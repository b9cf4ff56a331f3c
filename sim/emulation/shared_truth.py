"""The true state of the plant in memory that plant and loop share: one writes it at every step, the other reads it.

The writer counts before and after each copy; a reader that finds two different counts reads again (a sequence lock).
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence

import numpy as np

from granite.config.records import NOTHING, Array, Truth

_BYTES = 1 << 16
_HEAD = 2
_TRIES = 100


class SharedTruth:
    """The newest truth, and of each board the time of its newest change [us] and whether all its outputs are at zero.

    Parameters
    ----------
    descriptor
        Of the memory; None: new memory.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = os.memfd_create("granite-truth") if descriptor is None else descriptor
        if descriptor is None:
            os.ftruncate(self.descriptor, _BYTES)
        self._memory = mmap.mmap(self.descriptor, _BYTES)
        self._numbers: Array = np.frombuffer(self._memory, np.float64)
        self._count = 0

    def put(self, truth: Truth, boards: Sequence[tuple[float, float]]) -> None:
        """Replace the truth."""
        numbers = self._numbers
        self._count += 1
        numbers[0] = self._count
        flat = np.concatenate([[truth.t], *truth[1:], np.ravel(boards)])
        numbers[_HEAD : _HEAD + len(flat)] = flat
        numbers[1] = self._count

    def get(self, sizes: Sequence[int], boards: int) -> tuple[Truth, Array] | None:
        """The newest truth, whose arrays have these sizes, and two numbers of each board; None while there is none."""
        numbers, n = self._numbers, 1 + sum(sizes) + 2 * boards
        for _ in range(_TRIES):
            after = numbers[1]
            flat = numbers[_HEAD : _HEAD + n].copy()
            if after and numbers[0] == after:
                ends = np.cumsum([1, *sizes])
                arrays = np.split(flat[: ends[-1]], ends[:-1])
                parts = [array if size else NOTHING for array, size in zip(arrays[1:], sizes, strict=True)]
                return Truth(flat.item(0), *parts), flat[ends[-1] :]
        return None

    def close(self) -> None:
        """Give the memory back."""
        del self._numbers
        self._memory.close()
        os.close(self.descriptor)
