"""A log for the page: whole runs as least and greatest values, rows and scenes at any time.

A log with extremes is opened by its index. Of an older one, a cut one or one that is being recorded they are found by
one pass over its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.console.shown_signals import column_of, topics_of
from granite.console.table_scene import TableScene
from granite.logs.extremes import Extremes, ExtremesOfRows, extremes_of, known
from granite.logs.indexed_log import IndexedLog, opened_by_index
from granite.logs.json_records import finite
from granite.logs.log import Log, read_log
from granite.logs.log_content import read_content

#: scenes of one answer at most, points of a sketch, rows that make up the jets of a scene
_SCENES, _SKETCHED, _JETS = 120, 60, 400
#: events of an answer
_EVENTS = 2000


class OpenLog:
    """An open log."""

    def __init__(self, path: str, progress: Callable[[float], None] = lambda part: None) -> None:
        self._indexed = indexed = opened_by_index(path)
        self._t: Array | None = None
        self.log: IndexedLog | Log
        self.log, self.extremes = self._read(path, progress) if indexed is None else (indexed, indexed.extremes)
        self._period = self.log.bed.loop.period_s
        first = self.rows_in(float(self.extremes.t[0]), float(self.extremes.t[0]))[0]
        self.scene = TableScene(self.log.bed, self.log.channels, first)
        self.span = float(first[self._scheduled]), float(self._last_row()[self._scheduled])

    @property
    def _scheduled(self) -> int:
        return self.log.channels.column("/timing", "scheduled_s")

    def _read(self, path: str, progress: Callable[[float], None]) -> tuple[Log, Extremes]:
        """A log without extremes: they are found while its rows are checked."""
        try:
            channels = read_content(path, head_only=True).channels
        except OSError as error:
            raise InputError(f"log '{path}' can't be read: {error.strerror}") from None
        gathered, times, scheduled = ExtremesOfRows(channels), [], channels.column("/timing", "scheduled_s")

        def watch(rows: Array, part: float) -> None:
            if len(rows):
                gathered.add(rows)
                times.append(rows[:, scheduled].copy())
            progress(part)

        log = read_log(path, watch=watch)
        self._t = np.concatenate(times)
        extremes = gathered.result()
        assert extremes is not None
        return log, extremes

    def rows_in(self, t0: float, t1: float) -> Array:
        """The rows from the last one at or before t0 to the first one at or after t1 [s]."""
        if self._indexed is not None:
            return self._indexed.rows_in(t0, t1)
        assert self._t is not None
        assert isinstance(self.log, Log)
        first, last = int(np.searchsorted(self._t, t0, "right")) - 1, int(np.searchsorted(self._t, t1, "left")) + 1
        first = min(max(first, 0), len(self._t) - 1)
        return self.log.rows_between(first, max(min(last, len(self._t)), first + 1))

    def _last_row(self) -> Array:
        last: Array = self.rows_in(float(self.extremes.t[-1]), np.inf if self._indexed is None else 1e6)[-1]
        return last

    def head(self) -> dict[str, Any]:
        """What a page needs to know first."""
        log = self.log
        times = [self.span[0]] if log.bed.planar else np.linspace(*self.span, 7).tolist()
        return {
            "bed": log.bed.name,
            "ticks": self.extremes.rows,
            "period": self._period,
            "t": list(self.span),
            "topics": topics_of(log.channels),
            "shapes": self.scene.shapes(),
            "sides": self.scene.sides(np.array([self.rows_in(t, t)[0] for t in times])),
            "path": self.scene.path(self._some_rows(400)),
            "events": list(log.events)[:_EVENTS],
            "summary": finite(log.summary) if log.summary else None,
            "info": log.info,
            "complete": self._indexed is not None or (isinstance(log, Log) and log.complete),
            "damage": log.damage if isinstance(log, Log) else None,
        }

    def sketch(self) -> dict[str, Any]:
        """A small picture: the path, and the scene at the end."""
        facts, points = self.scene.picture(self._last_row()[None])
        return {
            "shapes": self.scene.shapes(),
            "facts": {key: facts[key] for key in ("robot", "closed")},
            "points": np.frombuffer(points, "<f4").round(4).tolist(),
            "path": self.scene.path(self._some_rows(_SKETCHED)),
        }

    def _some_rows(self, n: int) -> Array:
        """Rows over the whole run, or where that would mean to read all of it, the middle of blocks."""
        if self.extremes.rows <= 20_000:
            rows = self.rows_in(*self.span)
            return rows[:: max(1, len(rows) // n)]
        low, high = self.extremes.low, self.extremes.high
        step = max(1, len(low) // n)
        middle: Array = 0.5 * (low[::step].astype(np.float64) + high[::step].astype(np.float64))
        return middle

    def signals(self, names: list[str], t0: float, t1: float, pixels: int) -> bytes:
        """Least and greatest values of signals in a time, about two columns for each pixel.

        The answer is a block of doubles: times, then least and greatest values of each signal, all of one length.
        """
        columns = [column_of(self.log.channels, name) for name in names]
        t0, t1 = max(t0, self.span[0]), min(max(t1, t0), self.span[1])
        n, size = (t1 - t0) / self._period, self.extremes.block
        if n / size >= pixels / 2:
            extremes = self.extremes.coarser(max(1, int(n / size / (2 * pixels))))
            begin = max(int(np.searchsorted(extremes.t, t0, side="right")) - 1, 0)
            end = max(int(np.searchsorted(extremes.t, t1, side="right")), begin + 1)
            t, low, high = extremes.t[begin:end], extremes.low[begin:end, columns], extremes.high[begin:end, columns]
        else:
            rows = self.rows_in(t0, t1)
            t, values = rows[:, self._scheduled], known(self.log.channels, rows)[:, columns]
            low = high = values  # type: ignore[assignment]
            if (factor := len(rows) // (2 * pixels)) > 1:
                t, (low, high) = t[::factor], extremes_of(values, factor)
        return np.concatenate([t, low.T.ravel(), high.T.ravel()]).astype("<f8").tobytes()

    def values(self, names: list[str], times: list[float]) -> list[list[float | None]]:
        """Values of signals in the last row at or before each time."""
        columns = [column_of(self.log.channels, name) for name in names]
        rows = np.array([known(self.log.channels, self.rows_in(t, t)[:1])[0, columns] for t in times])
        return [[None if x != x else x for x in row] for row in rows.tolist()]

    def scenes(self, times: list[float]) -> list[tuple[float, dict[str, Any], bytes]]:
        """The scene at some times, with the jets since the one before."""
        pictures, before = [], None
        for t in times[:_SCENES]:
            near = before is not None and 0 <= t - before <= _JETS * self._period
            rows = self.rows_in(before if near and before is not None else t, t)
            upto = int(np.searchsorted(rows[:, self._scheduled], t, side="right"))
            rows = rows[: max(upto, 1)]
            pictures.append((float(rows[-1, self._scheduled]), *self.scene.picture(rows)))
            before = t
        return pictures
