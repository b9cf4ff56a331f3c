"""Logs for the page, in a process of its own: whole runs as least and greatest values, scenes at any time.

One pass at opening gives the extremes of every signal in blocks of rows. A view of a long time is drawn from blocks, a
short one from the rows themselves, of which only the chunks in question are read.
"""

from __future__ import annotations

import asyncio
import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.console.shown_signals import column_of, known, topics_of
from granite.console.table_scene import TableScene
from granite.logs.json_records import finite
from granite.logs.log import Log, read_log

#: rows of a block, of each level
LEVELS = (16, 256)
#: logs that stay open, and rows that are drawn as they are
_OPEN, _RAW = 4, 4000
#: scenes of one answer at most
_SCENES = 120


class OpenLog:
    """A log with the extremes of its signals."""

    def __init__(self, path: str, progress: Callable[[float], None]) -> None:
        self.log: Log = read_log(path)
        #: of each level: least and greatest value of each column in each block, float32
        self._extremes = [self._blocks(level, progress) for level in LEVELS[:1]]
        for coarse, fine in itertools.pairwise((LEVELS[1], LEVELS[0])):
            self._extremes.append(_joined(self._extremes[-1], coarse // fine))
        self.t = self.log.t
        self._scene: TableScene | None = None

    @property
    def scene(self) -> TableScene:
        """The scene of the run."""
        if self._scene is None:
            self._scene = TableScene(self.log.bed, self.log.channels, self.log.rows_between(0, 1)[0])
        return self._scene

    def head(self) -> dict[str, Any]:
        """What a page needs to know first."""
        log = self.log
        some = [self.log.rows_between(i, i + 1)[0] for i in np.linspace(0, log.ticks - 1, 9).astype(int)]
        return {
            "bed": log.bed.name,
            "ticks": log.ticks,
            "t": [float(self.t[0]), float(self.t[-1])],
            "topics": topics_of(log.channels),
            "shapes": self.scene.shapes(),
            "sides": self.scene.sides(np.array(some)),
            "events": list(log.events)[:2000],
            "summary": finite(log.summary) if log.summary else None,
            "info": log.info,
            "complete": log.complete,
            "damage": log.damage,
        }

    def signals(self, names: list[str], t0: float, t1: float, pixels: int) -> bytes:
        """Least and greatest values of signals in a time, one column of the picture each.

        The answer is a block of doubles: times, then least and greatest values of each signal, all of one length.
        """
        first, last = self._rows_in(t0, t1)
        columns = [column_of(self.log.channels, name) for name in names]
        n = last - first
        if n <= max(_RAW, 2 * pixels):
            rows = known(self.log.channels, self.log.rows_between(first, last))[:, columns]
            t, least, greatest = self.t[first:last], rows, rows
        else:
            level = 1 if n // LEVELS[1] >= pixels else 0
            size = LEVELS[level]
            low, high = self._extremes[level]
            begin, end = first // size, -(-last // size)
            t = self.t[begin * size : end * size : size]
            least, greatest = low[begin:end, columns], high[begin:end, columns]
        return np.concatenate([t, least.T.ravel(), greatest.T.ravel()]).astype("<f8").tobytes()

    def scenes(self, times: list[float]) -> list[tuple[float, dict[str, Any], bytes]]:
        """The scene at some times, with the jets since the one before."""
        pictures = []
        before: int | None = None
        for t in times[:_SCENES]:
            row = min(max(int(np.searchsorted(self.t, t, side="right")) - 1, 0), self.log.ticks - 1)
            since = row if before is None or not 0 <= row - before <= _RAW else before
            pictures.append((float(self.t[row]), *self.scene.picture(self.log.rows_between(since, row + 1))))
            before = row
        return pictures

    def _rows_in(self, t0: float, t1: float) -> tuple[int, int]:
        first, last = np.searchsorted(self.t, [t0, t1]).tolist()
        return max(first - 1, 0), min(last + 1, self.log.ticks)

    def _blocks(self, size: int, progress: Callable[[float], None]) -> tuple[Array, Array]:
        low, high, done = [], [], 0
        for own in _in_steps(self.log.blocks(), size):
            rows = known(self.log.channels, own)
            starts = np.arange(0, len(rows), size)
            low.append(np.fmin.reduceat(rows, starts).astype(np.float32))
            high.append(np.fmax.reduceat(rows, starts).astype(np.float32))
            done += len(rows)
            progress(done / self.log.ticks)
        # Rounded outwards, so that no peak is lost.
        below, above = np.float32(-np.inf), np.float32(np.inf)
        return np.nextafter(np.vstack(low), below), np.nextafter(np.vstack(high), above)


def _in_steps(blocks: Iterator[Array], size: int) -> Iterator[Array]:
    """The same rows in blocks whose lengths are multiples of a size, but for the last one."""
    rest: Array | None = None
    for rows in blocks:
        rows = rows if rest is None else np.vstack((rest, rows))
        whole = len(rows) // size * size
        if whole:
            yield rows[:whole]
        rest = rows[whole:]
    if rest is not None and len(rest):
        yield rest


def _joined(extremes: tuple[Array, Array], n: int) -> tuple[Array, Array]:
    low, high = extremes
    starts = np.arange(0, len(low), n)
    return np.fmin.reduceat(low, starts), np.fmax.reduceat(high, starts)


def _send_progress(connection: Connection, number: int, part: float) -> None:
    connection.send((number, "progress", part))


def _work(connection: Connection) -> None:
    """Answer orders until the console is gone."""
    os.nice(10)
    logs: dict[str, tuple[tuple[int, int], OpenLog]] = {}
    while True:
        try:
            number, path, do, arguments = connection.recv()
        except (EOFError, OSError):
            return
        try:
            stamp = (status := os.stat(path)).st_mtime_ns, status.st_size
            if path not in logs or logs[path][0] != stamp:
                logs[path] = stamp, OpenLog(path, partial(_send_progress, connection, number))
                while len(logs) > _OPEN:
                    del logs[next(iter(logs))]
            connection.send((number, "done", getattr(logs[path][1], do)(*arguments)))
        except InputError as error:
            connection.send((number, "refused", str(error)))
        except OSError as error:
            connection.send((number, "refused", f"log '{path}' can't be read: {error.strerror}"))


class LogReader:
    """The process that reads logs."""

    def __init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._numbers = itertools.count()
        self._lock = asyncio.Lock()
        #: how far the log is read that is being opened, 0 to 1
        self.progress: dict[str, float] = {}

    async def ask(self, path: Path, do: str, *arguments: Any) -> Any:
        """The answer to an order; `InputError` where it is refused."""
        async with self._lock:
            return await asyncio.to_thread(self._ask, str(path), do, arguments)

    def close(self) -> None:
        """End the process."""
        if self._connection is not None and self._process is not None:
            self._connection.close()
            self._process.terminate()

    def start(self) -> None:
        """Start the process, if it does not run: its imports take seconds."""
        if self._process is None or not self._process.is_alive():
            context = multiprocessing.get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=_work, args=(other,), daemon=True, name="log reader")
            self._process.start()
            other.close()

    def _ask(self, path: str, do: str, arguments: tuple[Any, ...]) -> Any:
        self.start()
        assert self._process is not None
        assert self._connection is not None
        number = next(self._numbers)
        try:
            self._connection.send((number, path, do, arguments))
            while True:
                answered, what, content = self._connection.recv()
                if answered != number:
                    continue
                if what == "progress":
                    self.progress[path] = content
                    continue
                self.progress.pop(path, None)
                if what == "refused":
                    raise InputError(content)
                return content
        except (EOFError, OSError):
            self._process = None
            raise InputError(f"log '{path}' can't be read: its reader ended") from None
