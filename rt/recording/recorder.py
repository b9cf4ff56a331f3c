"""The loop's handle on the recorder, the process that drains its rows into a log.

The loop puts a row into the ring and continues. The process takes the rows out and flushes them to the file twice in
a second. It ends when the loop has finished or died, and only after the last row is in a closed file;
signals to end it are ignored until then. If the process dies, the loop continues and counts its rows as lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from granite.config.errors import LogError
from granite.config.testbed import Testbed
from granite.drivers.message_lines import receive, send
from granite.logs.channels import Channels
from granite.logs.run_summary import Ending, RunSummary
from granite.logs.unfinished import recorded_at
from granite.rt.live.live_view import LiveView
from granite.rt.process.forked_process import ForkedProcess
from granite.rt.process.posix_signals import name_of
from granite.rt.process.ring import Ring
from granite.rt.process.terminal import Terminal
from granite.rt.recording.recorder_process import Order, record
from granite.rt.ros2.options import Ros2

#: how long a loop without a deadline sleeps when too many rows wait [s], and how often at most
_FULL_PERIOD = 0.0005
_FULL_SLEEPS = 120_000
#: rows that may wait in virtual time: they are lost if both processes are killed, and take a part of a second to write
_WAITING_ROWS = 1024
#: time limit of closing; after it the loop no longer waits for the process [s]
_CLOSE_LIMIT = 60.0
#: after this time it is said that the loop waits [s]
_SILENT_S = 3.0


class RecordingResult(NamedTuple):
    """Result of recording."""

    rows: int  #: written
    lost: int  #: not written: the ring was full, or the recorder was gone
    failure: str | None  #: why the log is incomplete, if it is
    summary: RunSummary  #: of the run, as in the log


class Recorder:
    """The loop's side of the recorder; the loop never waits for the disk."""

    def __init__(self, channels: Channels, ring: Ring, process: ForkedProcess, virtual: bool) -> None:
        self.channels = channels
        self._ring = ring
        self._process = process
        self._has_begun = False
        self._most_waiting = min(ring.size, _WAITING_ROWS) if virtual else None

    @classmethod
    def start(
        cls,
        bed: Testbed,
        channels: Channels,
        path: Path | str,
        *,
        info: Mapping[str, str],
        virtual: bool,
        overwrite: bool = False,
        progress: bool = False,
        live: LiveView | None = None,
        ros2: Ros2 | None = None,
    ) -> Recorder:
        """Create the log and the process that writes it; `InputError` if the log can't be written.

        `info` goes into the log's metadata, `progress` draws a bar on standard error, `live` is the live view and
        `ros2` what the run has on ROS 2. In virtual time there is no deadline: the loop waits while too many rows wait
        to be written. The run begins later, by `begin`.
        """
        ring = Ring.create(bed.recording.ring_rows, channels.width)
        order = Order(bed, channels, ring, os.fspath(path), overwrite, info, progress, virtual, os.getpid(), live, ros2)
        asks = tuple(side.descriptor for side in (live.links, live.gains) if side) if live else ()
        unfinished = recorded_at(Path(path))
        was_there = unfinished.exists()  # before the process makes it
        process = ForkedProcess(partial(record, order), keep=(ring.descriptor, *asks))
        recorder = cls(channels, ring, process, virtual)
        try:
            answer = receive(process.stdout)
            if answer != {"ready": True}:
                process.wait()
                raise LogError(answer.get("failure", f"log '{path}': the recorder ended before it was ready"))
        except BaseException as error:  # Ctrl-C while the process starts: neither it nor a log without a tick stays
            process.kill()
            process.wait()
            recorder._release()
            if not was_there and not isinstance(error, LogError):
                unfinished.unlink(missing_ok=True)
            raise
        return recorder

    def begin(self, start_ns: int) -> None:
        """The run begins now, before its first row; `start_ns` is the wall time at t = 0."""
        self._has_begun = True
        send(self._process.stdin, {"start_ns": start_ns})

    def record(self, row: bytes) -> int:
        """Put the row into the ring; returns the number of rows lost so far. Called in the tick, so fast."""
        if self._most_waiting is not None and self._ring.waiting >= self._most_waiting:
            self._wait_for_space(self._most_waiting)
        self._ring.put(row)
        return self._ring.lost

    @property
    def lost(self) -> int:
        """Rows lost so far because the ring was full."""
        return self._ring.lost

    @property
    def pid(self) -> int:
        """The process that writes the log."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs; asks the operating system, so not in the tick."""
        return self._process.poll() is None

    def close(self, ending: Ending) -> RecordingResult:
        """Write the remaining rows and close the log.

        `ending` is how the run ended; it becomes part of the summary.
        """
        if not self._has_begun:  # interrupted before the first tick
            self.begin(0)
        self._ring.finish()
        answer: dict[str, Any] = {}
        waits = threading.Timer(_SILENT_S, _say_that_it_waits)
        waits.start()
        try:
            # It reads while it waits: a summary that fills the pipe would block the process for ever.
            answered = self._process.communicate(f"{json.dumps(ending)}\n", _CLOSE_LIMIT)
            answer = json.loads(answered or "{}")
            failure = answer.get("failure", f"the recorder {_ended_by(self._process.wait())}")
        except TimeoutError:
            failure = f"the recorder did not finish in {_CLOSE_LIMIT:.0f} s"
        finally:
            waits.cancel()
        rows, put = self._ring.taken_count, self._ring.put_count
        recorded = RecordingResult(
            rows,
            self._ring.lost + put - rows,
            failure,
            answer.get("summary", {"ticks": 0, **ending, "log_failure": None}),
        )
        self._release()
        return recorded

    def _wait_for_space(self, most: int) -> None:
        """Wait until fewer rows wait; if the process is gone or takes none, never again."""
        for _ in range(_FULL_SLEEPS):
            if not self.alive:
                break
            time.sleep(_FULL_PERIOD)
            if self._ring.waiting < most:
                return
        self._most_waiting = None

    def _release(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._ring.close()


def _ended_by(code: int) -> str:
    return f"was killed by {name_of(-code)}" if code < 0 else f"ended early, with code {code}"


def _say_that_it_waits() -> None:
    print(f"granite: the recorder finishes the log, for {_CLOSE_LIMIT:.0f} s at most", file=Terminal())
