"""The process behind the recorder: from the ring to the log, until the loop is done or dead.

The start of the run comes as a message of the loop, and its ending as another one after the loop has finished.
It answers with a message when the log is open, and with the summary of the run when it is closed.

A row is in the file a second after it was put at the latest, also if this process is killed then: it waits in the ring
for an idle period or a batch, then for a flush; the rest is for a machine that is busy with others.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np

from granite.config.errors import InputError, LogError
from granite.config.loader import to_json
from granite.config.records import Array
from granite.config.run_modes import RunMode
from granite.config.testbed import Testbed
from granite.config.verdict_subjects import subjects
from granite.drivers.message_lines import receive, send
from granite.logs.channels import Channels
from granite.logs.events import Events
from granite.logs.json_records import finite
from granite.logs.link_trouble import link_trouble
from granite.logs.mcap_file import McapFile
from granite.logs.summary import Summary
from granite.logs.unfinished import UnfinishedLog
from granite.rt.live.live_view import LiveView
from granite.rt.process.other_cores import away_from
from granite.rt.process.posix_signals import TERMINATING
from granite.rt.process.ring import Ring
from granite.rt.process.terminal import Terminal
from granite.rt.ros2.options import Ros2

if TYPE_CHECKING:
    from granite.rt.live.live_server import LiveServer
    from granite.rt.ros2.live_topics import LiveTopics

#: period of flushing to the file [s]: the rows of that time are lost if this process is killed
FLUSH_PERIOD = 0.5
#: how long it sleeps when the ring is empty [s], and in virtual time, where the loop may wait for it; a batch costs ten
#: times as much as a row, so few large batches keep up where the machine gives this process little time
_IDLE_PERIOD, _IDLE_PERIOD_VIRTUAL = 0.05, 0.005
#: the same with a live view of 30 scenes a second [s]
_IDLE_PERIOD_LIVE = 1 / 30
#: the same with topics of ROS 2, where each row goes out by itself [s]
_IDLE_PERIOD_ROS2 = 0.001
#: it wakes when a tick is done: this part of a period after it was due
_AFTER_TICK = 0.2
#: rows of this time are counted in the summary at once [s]: a batch costs 0.2 ms there, a row 3 us
_GATHERED_S = 0.5
#: largest batch: a flush never waits for more
_BATCH = 512
#: ending of a run whose loop died
LOOP_DIED = {"ended": "loop_died", "text": "the loop's process ended without a message"}


class Order(NamedTuple):
    """What is to be recorded."""

    bed: Testbed
    channels: Channels
    ring: Ring
    path: str
    overwrite: bool
    metadata: Mapping[str, str]
    progress: bool
    virtual: bool
    loop: int  #: the process of the loop
    live: LiveView | None = None  #: if wanted
    ros2: Ros2 | None = None  #: likewise


def record(order: Order, lines: TextIO, answers: TextIO) -> None:
    """Drain the ring until the loop is done."""
    for number in TERMINATING:
        signal.signal(number, signal.SIG_IGN)
    bed, channels, ring, path = order.bed, order.channels, order.ring, order.path
    _lower_priority(bed.loop.cpu)
    try:
        unfinished = UnfinishedLog(path, order.overwrite)
    except LogError as error:
        return send(answers, {"failure": str(error)})
    except OSError as error:
        return send(answers, {"failure": f"log '{path}' can't be written: {error.strerror}"})
    try:
        has_scene = order.live is not None
        file = McapFile(str(unfinished.path), channels, to_json(bed), order.metadata, scene=has_scene)
    except (OSError, RuntimeError) as error:
        unfinished.discard()
        return send(answers, {"failure": f"log '{path}' can't be written: {error}"})
    try:
        live = _live_server(order, file)
        topics = _live_topics(order)
    except InputError as error:
        file.close()
        unfinished.discard()
        return send(answers, {"failure": str(error)})
    send(answers, {"ready": True})
    operators = json.loads(order.metadata.get("operators", "[]"))

    def report(t: float, tick: int, level: str, name: str, text: str) -> None:
        file.event(t, tick, level, name, text)
        if live:
            live.event(t, tick, level, name, text)
        if topics:
            topics.event(t, level, name, text)

    def show_live(rows: Array) -> None:
        nonlocal live
        try:
            if live:
                live.show(rows)
        except Exception as error:  # the log matters more than its view
            live = None
            t, tick = rows[-1, channels.column("/sample", "t_s")], rows[-1, channels.column("/timing", "tick")]
            file.event(float(t), int(tick), "warning", "live_view_lost", f"the live view ended: {error}")

    def show_topics(rows: Array) -> None:
        nonlocal topics
        try:
            if topics:
                topics.show(rows)
        except Exception as error:
            topics = None
            t, tick = rows[-1, channels.column("/sample", "t_s")], rows[-1, channels.column("/timing", "tick")]
            file.event(float(t), int(tick), "warning", "live_view_lost", f"the topics of ROS 2 ended: {error}")

    events, summary = Events(bed, channels, subjects(bed), report, operators), Summary(bed, channels)
    idle = _IDLE_PERIOD_VIRTUAL if order.virtual else min(_IDLE_PERIOD, ring.size * bed.loop.period_s / 4)
    idle = min(idle, _IDLE_PERIOD_LIVE) if live else idle
    try:
        start_ns = receive(lines).get("start_ns", 0)
        file.begin(start_ns)
        if topics:
            topics.begin(start_ns)
        with _progress(order) as show:
            metrics = RowBatches(summary.update, round(_GATHERED_S / bed.loop.period_s))
            readers = [file.write, events.look, metrics.add, show, show_live]

            def read_all(rows: Array) -> None:
                for read in readers:
                    read(rows)

            # Of ROS 2 each row goes out at once, for a loop beside this one; the others take as many as without it.
            gathered = RowBatches(read_all, round(idle / bed.loop.period_s))
            first = [show_topics, gathered.add] if topics else readers
            begun = None if order.virtual or topics else time.monotonic() - (time.time_ns() - start_ns) * 1e-9
            pause = Pause(_IDLE_PERIOD_ROS2 if topics else idle, begun, bed.loop.period_s)
            drain(ring, file, first, lambda: os.getppid() != order.loop, pause)
            gathered.finish()
            metrics.finish()
        ending = (receive(lines) if ring.finished else {}) or LOOP_DIED
        links: Any = ending.get("links", {})
        for t, text in link_trouble(links):
            file.event(t, round(t / bed.loop.period_s), "warning", "link_trouble", text)
        events.look_back(ring.lost, ending["ended"], ending["text"])
        sent = {"ros2": topics.close()} if topics else {}
        result = finite({**summary.result(), **ending, **sent})
        file.summary(json.dumps(result))
        file.close()
        if not ring.taken_count and "traceback" not in ending:  # stopped before the first tick: nothing to keep
            unfinished.discard()
        else:
            unfinished.finish()
    except (RuntimeError, OSError, LogError) as error:
        why = f"log '{path}' can't be written: {error}; the rows so far are in '{unfinished.path}'"
        return send(answers, {"failure": why})
    if live:
        live.close()
    send(answers, {"failure": None, "summary": result})


class Pause:
    """Sleeps for a time; in real time until a tick is done, so that the work that follows lies between two ticks.

    Also cores that seem to be two may share caches and units: a tick beside other work takes longer.
    """

    def __init__(self, seconds: float, begun: float | None, period_s: float) -> None:
        """`begun`: when the first tick was due, by `time.monotonic`; none in virtual time."""
        self._seconds, self._period = seconds, period_s
        self._begun = begun if seconds >= period_s else None

    def __call__(self) -> None:
        """Sleep."""
        time.sleep(self._seconds if self._begun is None else self.until_a_tick_is_done(time.monotonic() - self._begun))

    def until_a_tick_is_done(self, t: float) -> float:
        """About the time of a pause, from a time of the run."""
        done = round((t + self._seconds) / self._period - _AFTER_TICK) + _AFTER_TICK
        return max(done * self._period - t, 0.0)


class RowBatches:
    """Rows for a reader to which a batch costs nearly as much as a row: as few batches as `rows` allow."""

    def __init__(self, read: Callable[[Array], None], rows: int) -> None:
        self._read, self._most = read, min(rows, _BATCH)
        self._waiting: list[Array] = []
        self._n = 0

    def add(self, rows: Array) -> None:
        """The next rows."""
        self._waiting.append(rows)
        self._n += len(rows)
        if self._n >= self._most:
            self.finish()

    def finish(self) -> None:
        """Read what waits."""
        if self._waiting:
            self._read(np.vstack(self._waiting))
        self._waiting, self._n = [], 0


def _live_server(order: Order, file: McapFile) -> LiveServer | None:
    """The live view, where it is wanted; `LogError` where its port can't be had."""
    if order.live is None:
        return None
    from granite.rt.live.live_server import LiveServer  # slow to import, and most runs have none

    return LiveServer(order.bed, order.channels, file, order.live)


def _live_topics(order: Order) -> LiveTopics | None:
    """The topics of ROS 2, where they are wanted; `InputError` where they can't be had."""
    if order.ros2 is None:
        return None
    from granite.rt.ros2.live_topics import LiveTopics

    return LiveTopics(order.bed, order.channels, order.ros2)


def drain(
    ring: Ring,
    file: McapFile,
    readers: Sequence[Callable[[Array], None]],
    orphaned: Callable[[], bool],
    pause: Callable[[], None],
) -> None:
    """Move rows from the ring to the readers until the loop has finished or died, and the ring is empty."""
    flush_at = time.monotonic() + FLUSH_PERIOD
    while True:
        last = ring.finished or orphaned()  # read before taking, so that all rows put until then are taken below
        rows = ring.take(_BATCH)
        for read in readers if len(rows) else ():
            read(rows)
        if last and not len(rows):
            break
        if not last and len(rows) < _BATCH:  # also after some rows: else those of the next tick alone would be a batch
            pause()
        if time.monotonic() >= flush_at:
            file.flush()
            flush_at = time.monotonic() + FLUSH_PERIOD


@contextlib.contextmanager
def _progress(order: Order) -> Iterator[Callable[[Array], None]]:
    """A progress bar on the terminal, drawn here so that the loop never draws."""
    if not order.progress:
        yield lambda rows: None
        return
    bed, is_attended = order.bed, "operators" in order.metadata
    from rich.console import Console  # slow to import, and most runs of a batch draw nothing
    from rich.progress import Progress

    with Progress(console=Console(file=Terminal()), transient=True) as progress:
        task = progress.add_task(bed.name, total=bed.loop.duration_s / bed.loop.period_s)
        yield lambda rows: progress.advance(task, counted_ticks(order.channels, rows, is_attended))


def counted_ticks(channels: Channels, rows: Array, is_attended: bool) -> int:
    """How many of the ticks count towards the duration: where an operator is there, only those that run."""
    if not is_attended:
        return len(rows)
    return int((rows[:, channels.column("/operation", "mode")] == RunMode.RUNNING).sum())


def _lower_priority(loop_cpu: int | None) -> None:
    """Normal scheduling, low priority and off the loop's core, whatever this process inherited from the loop."""
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(10)
    if loop_cpu is not None:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, away_from({loop_cpu}, set(range(os.cpu_count() or 1))))
