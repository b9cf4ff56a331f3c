"""A log opened by its index: configuration, summary, events and extremes at once, rows chunk by chunk when they are
asked for. Nothing else of the file is read, so that an hour opens as fast as a second.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.logs.extremes import EXTREMES, Extremes
from granite.logs.json_records import read_event, read_summary
from granite.logs.log_content import read_content
from granite.logs.mcap_file import EVENTS, SUMMARY
from granite.logs.mcap_records import BROKEN, BrokenError, messages, read_attachment, read_chunk, read_index
from granite.logs.row_assembly import LayoutError, RowAssembly
from granite.logs.run_summary import RunSummary

#: chunks of rows that stay in memory, and chunks that are looked through for events
_KEPT, _EVENT_CHUNKS = 48, 40


class IndexedLog:
    """A whole log with extremes; raises one of the `BROKEN` for any other, which `read_log` reads.

    Raises
    ------
    InputError
        Where it is no log of this format.
    OSError
        Where the file can't be read.
    """

    def __init__(self, path: Path | str) -> None:
        head = read_content(path, head_only=True)
        self.bed, self.channels, self.info = head.bed, head.channels, head.info
        self._path, self._file = path, open(path, "rb")  # noqa: SIM115 - rows are read from it later
        try:
            self._index = read_index(self._file)
            self._index.chunks.sort(key=lambda chunk: chunk.chunk_start_offset)
            self.extremes = self._read_extremes()
            self.summary, self.events = self._read_summary(), self._read_events()
            # The times of a chunk's messages: those of its events may be out of order, so they grow by construction.
            self._begins = [chunk.message_start_time for chunk in self._index.chunks]
            self._ends = np.maximum.accumulate([chunk.message_end_time for chunk in self._index.chunks]).tolist()
        except BaseException:
            self._file.close()
            raise
        self._start_ns = int(self.info.get("start_ns", "0"))
        self._kept: OrderedDict[int, Array] = OrderedDict()
        self._t = self.channels.column("/timing", "scheduled_s")

    @property
    def ticks(self) -> int:
        """The number of rows."""
        return self.extremes.rows

    def rows_in(self, t0: float, t1: float) -> Array:
        """The rows from the last one at or before t0 to the first one at or after t1 [s]."""
        period = self.bed.loop.period_s
        first, last = (self._start_ns + round(t * 1e9) for t in (t0 - 1.5 * period, t1 + 1.5 * period))
        begin = min(bisect_left(self._ends, first), len(self._ends) - 1)
        end = max(bisect_right(self._begins, last), begin + 1)
        parts = [self._rows_of(i) for i in range(begin, end)]
        while begin and not any(map(len, parts)):  # the last chunk may have the summary alone
            begin -= 1
            parts.insert(0, self._rows_of(begin))
        rows = np.vstack(parts)
        t = rows[:, self._t]
        low, high = np.searchsorted(t, [t0, t1], side="right").tolist()
        high += int(high < len(t) and t[high - 1] < t1)
        low = min(max(low - 1, 0), len(rows) - 1)
        return rows[low : max(high, low + 1)]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read_extremes(self) -> Extremes:
        if EXTREMES not in self._index.attachments:
            raise BrokenError("no extremes")
        data = read_attachment(self._file, self._index.attachments[EXTREMES])
        extremes = Extremes.unpacked(data, self.channels.width)
        if extremes is None:
            raise BrokenError("damaged extremes")
        return extremes

    def _read_summary(self) -> RunSummary | None:
        [message] = [None, *self._messages(SUMMARY, 2)][-1:]
        return None if message is None else read_summary(message)

    def _read_events(self) -> tuple[dict[str, Any], ...]:
        return tuple(read_event(message, i + 1) for i, message in enumerate(self._messages(EVENTS, _EVENT_CHUNKS)))

    def _messages(self, topic: str, most: int) -> list[bytes]:
        """The messages of a topic, from the first chunks that have some, or where they are too many the last ones."""
        if (number := self._index.channels.get(topic)) is None:
            return []
        chunks = [chunk for chunk in self._index.chunks if number in chunk.message_index_offsets]
        chosen = chunks if len(chunks) <= most else [*chunks[: most // 2], *chunks[-most // 2 :]]
        return [
            message
            for chunk in chosen
            for channel, message in messages(read_chunk(self._file, chunk.chunk_start_offset))
            if channel == number
        ]

    def _rows_of(self, number: int) -> Array:
        """The rows that are complete with a chunk; they may begin in the one before."""
        if number not in self._kept:
            try:
                assembly = RowAssembly(self.channels, lambda topic, message: None)
                for definition in self._index.definitions:
                    assembly.define(*definition)
                if number:
                    assembly.resume()
                    assembly.take(self._content(number - 1))
                self._kept[number] = assembly.take(self._content(number))
            except (*BROKEN, LayoutError) as error:
                raise InputError(f"log '{self._path}' can't be read there: {error}") from error
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(number)
        return self._kept[number]

    def _content(self, number: int) -> bytes:
        return read_chunk(self._file, self._index.chunks[number].chunk_start_offset)


def opened_by_index(path: Path | str) -> IndexedLog | None:
    """A log by its index; None where it has none, as one that is cut, damaged, recorded now or older."""
    try:
        return IndexedLog(path)
    except (*BROKEN, OSError):  # `read_log` says what is wrong
        return None
