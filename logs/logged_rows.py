"""The rows of a log on disk, read chunk by chunk, so that a long run needs no more memory than a short one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import IO

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.logs.channels import Channels
from granite.logs.mcap_records import BROKEN, chunk_content
from granite.logs.row_assembly import RowAssembly

#: rows of a log up to this size stay in memory after they were checked [bytes]
KEPT = 64 * 2**20
#: rows of an array that are handed on at a time
_BLOCK = 4096


class LoggedRows:
    """Rows that were checked once, in memory or in an open file.

    Parameters
    ----------
    file
        The log; it stays open as long as this object, so that a log that replaces it is never read by mistake.
    channels
        The layout of the rows.
    """

    def __init__(self, file: IO[bytes], channels: Channels) -> None:
        self._file, self._channels, self._name = file, channels, file.name
        self._chunks: list[tuple[int, int, bool]] = []
        #: schemas and channels of the index, where the chunk that has them is damaged
        self.definitions: list[tuple[int, bytes]] = []
        #: numbers of the rows before which chunks are missing
        self.gaps: list[int] = []
        self._kept: list[Array] | None = []
        #: number of the first row that is complete with each chunk
        self._firsts: list[int] = []
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def add(self, at: int, length: int, rows: Array, after_gap: bool = False) -> None:
        """Note where a chunk stands in the file, and the checked rows that are complete with it."""
        self._chunks.append((at, length, after_gap))
        self._firsts.append(self._n)
        if after_gap:
            self.gaps.append(self._n)
        self._n += len(rows)
        if self._kept is not None and 8 * self._n * self._channels.width <= KEPT:
            self._kept.append(rows)
        else:
            self._kept = None

    def blocks(self) -> Iterator[Array]:
        """All rows, some at a time."""
        if self._kept is not None:
            yield from (rows for rows in self._kept if len(rows))
            return
        assembly = self._assembly()
        for chunk in self._chunks:
            if len(rows := self._rows_of(assembly, *chunk)):
                yield rows

    def between(self, first: int, last: int) -> Array:
        """Rows `first` up to `last`, without it, from the chunks that have them."""
        first, last = max(first, 0), min(last, self._n)
        if first >= last:
            return np.zeros((0, self._channels.width))
        begin, end = bisect_right(self._firsts, first) - 1, bisect_left(self._firsts, last)
        if self._kept is not None:
            parts = self._kept[begin:end]
        else:
            assembly = self._assembly()
            if begin > 1:
                self._rows_of(assembly, *self._chunks[0])  # it has the schemas
                assembly.resume()
            # A row may begin in the chunk before the one that completes it.
            parts = [self._rows_of(assembly, *chunk) for chunk in self._chunks[max(begin - 1, 0) : end]]
        rows: Array = np.vstack(parts)
        after = [*self._firsts, self._n][end]  # the number of the row after these: the first of them may be missing
        return rows[len(rows) - (after - first) : len(rows) - (after - last)]

    def _assembly(self) -> RowAssembly:
        assembly = RowAssembly(self._channels, lambda topic, message: None)
        for definition in self.definitions:
            assembly.define(*definition)
        return assembly

    def _rows_of(self, assembly: RowAssembly, at: int, length: int, after_gap: bool) -> Array:
        """The rows that are complete with a chunk."""
        self._file.seek(at)
        try:
            if after_gap:
                assembly.resume()
            return assembly.take(chunk_content(self._file.read(length)))
        except BROKEN as error:
            raise InputError(f"log '{self._name}' changed while it was read: {error}") from error


def blocks_of(rows: Array) -> Iterator[Array]:
    """The rows of an array, some at a time."""
    return (rows[at : at + _BLOCK] for at in range(0, len(rows), _BLOCK))


def gathered(blocks: Iterator[Array], n: int, columns: list[int] | slice) -> Array:
    """Some columns of all rows, n of them, as one array."""
    gathered_rows: Array | None = None
    at = 0
    for rows in blocks:
        part = rows[:, columns]
        gathered_rows = np.empty((n, part.shape[1])) if gathered_rows is None else gathered_rows
        gathered_rows[at : at + len(part)] = part
        at += len(part)
    assert gathered_rows is not None
    return gathered_rows
