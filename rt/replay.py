"""Replay: the recorded samples through the same tick again, every output compared with the log bit for bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from granite.config.errors import InputError
from granite.config.loader import from_json, to_json
from granite.config.parts import fingerprint, running_only, vouched
from granite.config.reasons import Reason
from granite.config.records import Array, Command, Frame, Sample, Tick
from granite.config.run_modes import GOAL_ANSWER, Reply, Request, RequestKind, RunMode
from granite.controllers.stack import build_stack
from granite.kernels.library import is_portable
from granite.logs.channels import Channels
from granite.logs.log import Log
from granite.rt.guard.guard import Guard
from granite.rt.loop.clock import VirtualClock
from granite.rt.loop.loop import Loop, LoopParts, Surroundings

#: outputs of the tick; samples, applied frames and requests are its inputs, truth and timing are not reproducible
COMPARED = ("/state", "/reference", "/demand", "/command", "/verdict", "/operation")


@dataclass(frozen=True)
class Difference:
    """The first value that differs."""

    tick: int
    t: float
    topic: str
    key: str
    logged: float
    replayed: float


@dataclass(frozen=True)
class Replay:
    """Result of a replay."""

    ticks: int  #: replayed and compared
    values: int  #: compared
    first: Difference | None
    gap: int | None  #: tick after which rows are missing in the log; the replay ends there
    changed: tuple[str, ...] = ()  #: files of the user's own parts that changed since the run


def replay(log: Log, progress: Callable[[int], None] | None = None, *, trust: bool = False) -> Replay:
    """Run the recorded samples through fresh controllers and compare every output bit for bit.

    Parameters
    ----------
    log
        The recorded run.
    progress
        Called with the number of ticks replayed so far.
    trust
        Run the files of a user's own parts as they are; otherwise only with the SHA-256 that the log has of them.

    Returns
    -------
    Replay
        It ends at the first difference or at the first missing row.

    Raises
    ------
    InputError
        Where the code of a user's own part is missing, or is not trusted, or GRANITE_PORTABLE differs from the run's.
    """
    name = f"log of {log.bed.name}"
    if (log.info.get("model") == "portable") != is_portable():
        raise InputError(
            "other functions than in the run", file=name, expected=f"GRANITE_PORTABLE={int(not is_portable())}"
        )
    try:
        files = vouched(log.bed, _recorded_sources(log), trust)
    except InputError as refusal:
        raise refusal.within(file=name) from None
    with running_only(files):
        return _replay(log, progress, name)


def _replay(log: Log, progress: Callable[[int], None] | None, name: str) -> Replay:
    devices, comparison, changed = _LoggedDevices(), _Comparison(log.channels), changed_sources(log)
    bed = from_json(to_json(log.bed), name)  # now with the code of all its parts
    if Channels.of(bed).layout() != log.channels.layout():
        files = ", ".join(changed) or "Granite itself"
        raise InputError(f"its devices have other signals than in the run, because of {files}", expected="the same")
    # Step by step, whichever form the run had: this compares both.
    parts = LoopParts(bed, log.channels, devices, build_stack(bed), Guard(bed))
    loop = Loop(parts, VirtualClock(), comparison, Surroundings(source=devices))
    lost, n, last = log.channels.column("/timing", "lost"), 0, -1
    for row in (row for rows in log.blocks() for row in rows):
        if row[lost] > 0:  # the controllers' state is not known after a gap
            return Replay(n, n * comparison.width, None, last, changed)
        n += 1
        devices.now = comparison.now = tick = log.channels.read(row)
        comparison.logged = row
        loop.tick(tick.timing.tick, tick.sample.t, tick.timing.delay)
        if comparison.first is not None:
            return Replay(n, n * comparison.width, comparison.first, None, changed)
        last = tick.timing.tick
        if progress:
            progress(n)
    return Replay(n, n * comparison.width, None, None, changed)


def changed_sources(log: Log) -> tuple[str, ...]:
    """The files of a user's own parts whose content differs from that of the run."""
    return tuple(file for file, content in _recorded_sources(log).items() if fingerprint(file) != content)


def _recorded_sources(log: Log) -> dict[str, str]:
    recorded: dict[str, str] = json.loads(log.info.get("sources", "{}"))
    return recorded


class _LoggedDevices:
    """Devices and operators that repeat the recorded values."""

    now: Tick

    def read(self, t: float, delay: float = 0.0) -> Sample:
        return self.now.sample

    def write(self, t: float, command: Command) -> tuple[Frame, ...]:
        return self.now.applied

    def stop(self, t: float, paced: bool = False) -> dict[str, str]:
        return {}

    def take(self, t: float, mode: RunMode, cause: Reason) -> Request | None:
        asked = self.now.operation
        if not asked.request:
            return None
        numbers = tuple(asked.goal[GOAL_ANSWER:].tolist())
        return Request(RequestKind(asked.request), asked.sender, asked.argument, asked.value, numbers=numbers)

    def answer(self, request: Request, reply: Reply, mode: RunMode, cause: Reason) -> None:
        pass

    def name(self, sender: int) -> str:
        return ""


class _Comparison:
    """Takes rows like a recorder, and compares each with the logged one."""

    now: Tick
    logged: Array

    def __init__(self, channels: Channels) -> None:
        self.first: Difference | None = None
        self._names = [
            (topic.name, value.key, topic.start + i)
            for topic in channels.topics
            if topic.name in COMPARED
            for i, (_, value) in enumerate(topic.values)
        ]
        self._columns = np.array([column for _, _, column in self._names])
        self.width = len(self._names)

    def record(self, row: bytes) -> int:
        replayed, logged = np.frombuffer(row)[self._columns], self.logged[self._columns]
        differs = replayed.view(np.uint64) != logged.view(np.uint64)
        if differs.any():
            i = int(np.argmax(differs))
            topic, key, _ = self._names[i]
            timing = self.now.timing
            self.first = Difference(timing.tick, self.now.sample.t, topic, key, float(logged[i]), float(replayed[i]))
        return 0
