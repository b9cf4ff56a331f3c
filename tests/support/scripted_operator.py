"""Requests of an operator at chosen ticks, and a run with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from granite.config.loader import load
from granite.config.reasons import Reason
from granite.config.records import Array
from granite.config.run_modes import Reply, Request, RequestKind, RunMode
from granite.config.testbed import Testbed
from granite.logs.channels import Channels
from granite.rt.loop.clock import VirtualClock
from granite.rt.loop.loop import Outcome
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run


class Script:
    """A source that gives each request at its tick, and keeps the answers."""

    def __init__(self, requests: Mapping[int, Request]) -> None:
        self._requests, self._tick = requests, -1
        self.answers: list[tuple[RequestKind, Reply, RunMode]] = []

    def take(self, t: float, mode: RunMode, cause: Reason) -> Request | None:
        self._tick += 1
        return self._requests.get(self._tick)

    def answer(self, request: Request, reply: Reply, mode: RunMode, cause: Reason) -> None:
        self.answers.append((request.ask, reply, mode))

    def name(self, sender: int) -> str:
        return f"operator {sender}"


class ScriptedRun(NamedTuple):
    run: Run
    outcome: Outcome
    rows: Array
    script: Script

    @property
    def channels(self) -> Channels:
        return self.run.channels

    def column(self, topic: str, key: str) -> Array:
        return self.rows[:, self.channels.column(topic, key)]

    def entry(self, topic: str, entry: str) -> Array:
        return self.rows[:, self.channels.columns(topic, entry)]

    @property
    def modes(self) -> list[RunMode]:
        """Each mode once, in turn."""
        names: list[RunMode] = []
        for mode in self.column("/operation", "mode"):
            if not names or names[-1] != mode:
                names.append(RunMode(int(mode)))
        return names


def scripted(
    requests: Mapping[float, Request | RequestKind],
    *changes: str,
    bed: str | Testbed = "free-flyer",
    prepare: Callable[[Run], None] = lambda run: None,
) -> ScriptedRun:
    """Run a testbed in virtual time with requests by their time [s]."""
    testbed = load(bed, list(changes)) if isinstance(bed, str) else bed
    if hasattr(testbed.behaviour, "check_moves"):  # limits that the move does not keep are what is tested
        testbed = testbed.with_changes({"behaviour.check_moves": False})
    run = Run(testbed)
    prepare(run)
    period = run.bed.loop.period_s
    script = Script({round(t / period): Request(r) if isinstance(r, RequestKind) else r for t, r in requests.items()})
    run.source = script
    memory = Memory(run.channels, run.ticks + 20_000)
    return ScriptedRun(run, run.execute(VirtualClock(), memory), memory.rows, script)
