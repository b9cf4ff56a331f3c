"""The true state of the plant in memory that plant and loop share: one writes it at every step, the other reads it.

There are two copies, written in turn, and a count that names the newest: a reader that interrupts the writer finds the
whole truth before, and one that is overtaken by the writer reads again.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from granite.config.records import NOTHING, Array, Truth

_BYTES = 1 << 17
_TRIES = 10


class SharedTruth:
    """The newest truth, and of each board the time of its newest change [us] and whether all but grips are at zero.

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
        flat = np.concatenate([[truth.t], *truth[1:], np.ravel(boards)])
        self._count += 1
        offset = _offset(self._count)
        self._numbers[offset : offset + len(flat)] = flat
        self._numbers[0] = self._count

    def get(self, sizes: Sequence[int], boards: int) -> tuple[Truth, Array] | None:
        """The newest truth, whose arrays have these sizes, and two numbers of each board; None while there is none."""
        numbers, ends = self._numbers, list(accumulate(sizes, initial=1))
        for _ in range(_TRIES):
            count = numbers.item(0)
            offset = _offset(int(count))
            flat = numbers[offset : offset + ends[-1] + 2 * boards].copy()
            if count and numbers.item(0) == count:
                parts = [flat[first:last] if first < last else NOTHING for first, last in pairwise(ends)]
                return Truth(flat.item(0), *parts), flat[ends[-1] :]
        return None

    def close(self) -> None:
        """Give the memory back."""
        del self._numbers
        self._memory.close()
        os.close(self.descriptor)


def _offset(count: int) -> int:
    """Index of the first number of the truth with this count."""
    return 1 + (count % 2) * (_BYTES // 16 - 1)
