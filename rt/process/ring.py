"""A ring of float64 rows in memory shared by two processes: one producer, one consumer, neither waits for the other.

The block begins with four counters, each on its own cache line and written by one side only: rows put, rows
lost and the closing flag by the producer, rows taken by the consumer. A row is written before the counter
that announces it, and read before the counter that frees its slot. Python has no memory barrier, and
on ARM stores may overtake each other, so a lock released and taken again stands in for one (release, then
acquire, on one atomic word). The counters are aligned 8-byte words, which the machine loads and stores
whole.

The memory has no name (memfd): it lives as long as a process holds it, and is freed even if both are
killed.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import threading

import numpy as np

from granite.config.records import Array

_PUT, _LOST, _TAKEN, _CLOSED = 0, 8, 16, 24  # index of 8-byte words: 64 bytes apart
_HEADER = 32


class Ring:
    """One end of the ring: the producer's by `create`, the consumer's by the descriptor that it inherited."""

    def __init__(self, descriptor: int, rows: int, width: int) -> None:
        self.descriptor = descriptor
        self._block = mmap.mmap(descriptor, 8 * (_HEADER + rows * width))
        self._words = memoryview(self._block).cast("q")
        self._rows: Array = np.frombuffer(self._block, np.float64, offset=8 * _HEADER).reshape(rows, width)
        self._n, self._size = rows, 8 * width
        self._barrier = threading.Lock()
        self._barrier.acquire()

    @classmethod
    def create(cls, rows: int, width: int) -> Ring:
        """A new, empty ring."""
        low = os.memfd_create("granite-ring")
        # Not 0, 1 or 2, which are free where a standard stream is closed, and which the recorder gets as pipes.
        descriptor = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 3)
        os.close(low)
        os.ftruncate(descriptor, 8 * (_HEADER + rows * width))
        ring = cls(descriptor, rows, width)
        ring._rows[:] = 0.0  # allocate the pages now, not in the first ticks of the loop
        return ring

    # The producer's side.

    def put(self, row: bytes) -> bool:
        """Copy the bytes of a row in; if the ring is full, count it as lost."""
        words = self._words
        put = words[_PUT]
        if put - words[_TAKEN] >= self._n:
            words[_LOST] += 1
            return False
        at = 8 * _HEADER + put % self._n * self._size
        self._block[at : at + self._size] = row
        self._order()
        words[_PUT] = put + 1
        return True

    def finish(self) -> None:
        """Signal the consumer that no more rows follow."""
        self._order()
        self._words[_CLOSED] = 1

    # The consumer's side.

    def take(self, most: int | None = None) -> Array:
        """A copy of the waiting rows, oldest first: at most so many, and those up to the end of the block."""
        taken, put = self._words[_TAKEN], self._words[_PUT]
        self._order()
        first, waiting = taken % self._n, put - taken
        rows = self._rows[first : min(first + min(waiting, most or waiting), self._n)].copy()
        self._order()
        self._words[_TAKEN] = taken + len(rows)
        return rows

    # Both sides.

    @property
    def size(self) -> int:
        """Rows that it holds."""
        return self._n

    @property
    def waiting(self) -> int:
        """Rows that were put and not taken."""
        return self._words[_PUT] - self._words[_TAKEN]

    @property
    def put_count(self) -> int:
        """Rows put so far."""
        return self._words[_PUT]

    @property
    def taken_count(self) -> int:
        """Rows taken so far."""
        return self._words[_TAKEN]

    @property
    def lost(self) -> int:
        """Rows lost because the ring was full."""
        return self._words[_LOST]

    @property
    def finished(self) -> bool:
        """Whether the producer has put its last row."""
        return self._words[_CLOSED] == 1

    def close(self) -> None:
        """Release the memory."""
        self._words.release()
        del self._rows
        self._block.close()
        os.close(self.descriptor)

    def _order(self) -> None:
        """Loads and stores before this come before loads and stores after it."""
        if self._barrier.locked():  # always, unless Ctrl-C arrived between the two lines below
            self._barrier.release()
        self._barrier.acquire()
