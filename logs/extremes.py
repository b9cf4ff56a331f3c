"""Least and greatest value of every signal in blocks of rows, which stand at the end of a log: a long one is drawn
from them without reading its rows.

Values are float32, rounded outwards, so that no peak is lost. A long run has larger blocks, never more of them. Until
its end they are in a file, so that a recorder does not grow.
"""

from __future__ import annotations

import io
import math
import struct
from typing import IO, Any, NamedTuple

import numpy as np
import zstandard
from numpy.typing import NDArray

from granite.config.records import Array
from granite.logs.channels import Channels

#: name of the attachment
EXTREMES = "extremes.bin"
#: rows of a block, and blocks at most: after that each block has twice as many rows
BLOCK, MOST = 64, 16384
#: blocks that are in memory while they are joined, an even number
_JOINED_AT_ONCE = 512
#: of these topics nothing is known before the estimate is ready: their zeros are no values
_AFTER_READY = ("/state", "/reference", "/demand")
_HEAD = struct.Struct("<4sIIII")
_MAGIC = b"GEX1"

Floats = NDArray[np.float32]


class Extremes(NamedTuple):
    """Of each block: the time of its first row, and by column the least and the greatest value."""

    block: int  #: rows of each, but for the last one
    rows: int  #: in all
    t: Array
    low: Floats
    high: Floats

    def packed(self) -> bytes:
        """As an attachment."""
        head = _HEAD.pack(_MAGIC, self.block, self.rows, *self.low.shape)
        content = b"".join(part.tobytes() for part in (self.t.astype("<f8"), self.low, self.high))
        return head + bytes(zstandard.ZstdCompressor(level=1).compress(content))

    @classmethod
    def unpacked(cls, data: bytes, columns: int) -> Extremes | None:
        """From an attachment; None where it is damaged or of another layout."""
        try:
            magic, block, rows, n, width = _HEAD.unpack_from(data)
            size = n * (8 + 8 * width)
            if magic != _MAGIC or width != columns or n > MOST or not 0 < n == -(-rows // max(block, 1)):
                return None
            with zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(data[_HEAD.size :]) as stream:
                content = stream.read(size + 1)
            if len(content) != size:
                return None
        except (struct.error, zstandard.ZstdError, MemoryError):
            return None
        t = np.frombuffer(content, "<f8", n)
        low, high = np.frombuffer(content, "<f4", 2 * n * width, 8 * n).reshape(2, n, width)
        return cls(block, rows, t, low, high)

    def coarser(self, factor: int) -> Extremes:
        """Blocks of so many times as many rows."""
        low, high = _joined(self.low, self.high, factor)
        return Extremes(self.block * factor, self.rows, self.t[::factor], low, high)


class ExtremesOfRows:
    """Takes the rows of a run one batch after the other.

    Parameters
    ----------
    channels
        Of the rows.
    file
        Where the blocks are kept until all rows have come, empty at first; in memory where none is given.
    """

    def __init__(self, channels: Channels, file: IO[bytes] | None = None) -> None:
        self._channels, self._t = channels, channels.column("/timing", "scheduled_s")
        self._waiting: list[Array] = []
        self._n_waiting = self._rows = 0
        self._block = BLOCK
        self._file = io.BytesIO() if file is None else file
        width = channels.width
        self._form = np.dtype([("t", "<f8"), ("low", "<f4", width), ("high", "<f4", width)])

    def add(self, rows: Array) -> None:
        """The next rows."""
        self._waiting.append(rows.copy())  # the rows of a ring are written over
        self._n_waiting += len(rows)
        while self._n_waiting >= self._block:
            # Never past the largest number of blocks, which is even: so two of them can be joined to one.
            blocks = min(self._n_waiting // self._block, MOST - self._rows // self._block)
            waiting, whole = np.vstack(self._waiting), blocks * self._block
            self._take(waiting[:whole])
            self._waiting, self._n_waiting = [waiting[whole:]], self._n_waiting - whole
            if self._rows // self._block == MOST:
                self._join()

    def result(self) -> Extremes | None:
        """All blocks; None where no row came."""
        if self._n_waiting:
            self._take(np.vstack(self._waiting))
            self._waiting, self._n_waiting = [], 0
        if not self._rows:
            return None
        blocks = self._read(0, MOST)
        t, low, high = (np.ascontiguousarray(blocks[name]) for name in ("t", "low", "high"))
        return Extremes(self._block, self._rows, t, low, high)

    def _take(self, rows: Array) -> None:
        self._write(rows[:: self._block, self._t], *extremes_of(known(self._channels, rows), self._block))
        self._rows += len(rows)

    def _join(self) -> None:
        """Make one of every two blocks, a part of them at a time."""
        for first in range(0, MOST, _JOINED_AT_ONCE):
            blocks = self._read(first, _JOINED_AT_ONCE)
            self._file.seek(first // 2 * self._form.itemsize)
            self._write(blocks["t"][::2], *_joined(blocks["low"], blocks["high"], 2))
        self._file.truncate()
        self._block *= 2

    def _read(self, first: int, n: int) -> NDArray[Any]:
        self._file.seek(first * self._form.itemsize)
        return np.frombuffer(self._file.read(n * self._form.itemsize), self._form)

    def _write(self, t: Array, low: Floats, high: Floats) -> None:
        blocks = np.empty(len(t), self._form)
        blocks["t"], blocks["low"], blocks["high"] = t, low, high
        self._file.write(blocks.tobytes())


def extremes_of(rows: Array, block: int) -> tuple[Floats, Floats]:
    """Least and greatest values of each so many rows, without NaN, rounded outwards."""
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)  # keeps their order
    low, high = _joined(single, single, block)
    return np.nextafter(low, np.float32(-np.inf)), np.nextafter(high, np.float32(np.inf))


def known(channels: Channels, rows: Array) -> Array:
    """Rows with NaN where the estimate was not ready."""
    waits = rows[:, channels.column("/state", "ready")] != 1.0
    if not waits.any():
        return rows
    rows = rows.copy()
    for name in _AFTER_READY:
        topic = channels.topic(name)
        rows[waits, topic.start : topic.stop] = math.nan
    return rows


def _joined(low: Floats, high: Floats, n: int) -> tuple[Floats, Floats]:
    return _by_block(np.fmin, low, n), _by_block(np.fmax, high, n)


def _by_block(reduced: np.ufunc, values: Floats, n: int) -> Floats:
    """Each n rows reduced to one, the last ones too where they are fewer: six times as fast as `reduceat`."""
    whole = len(values) // n
    first = reduced.reduce(values[: whole * n].reshape(whole, n, values.shape[1]), axis=1)
    if whole * n == len(values):
        return np.asarray(first)
    return np.vstack((first, reduced.reduce(values[whole * n :], axis=0)))
