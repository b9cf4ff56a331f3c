"""Runs in virtual time whose rows stay in memory: compiled as a whole where every part can be, else in the loop."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from granite.config.loader import from_json, to_json
from granite.config.reasons import Reason
from granite.config.records import Array, Truth
from granite.config.testbed import Testbed
from granite.config.verdict_subjects import subjects
from granite.kernels.compilation import mode
from granite.logs.channels import Channels
from granite.logs.events import Events
from granite.logs.log import Log
from granite.logs.run_summary import Ending, RunSummary
from granite.logs.summary import Summary
from granite.rt.compiled_run import CompiledRun, is_compilable
from granite.rt.loop.clock import VirtualClock
from granite.rt.loop.loop import Outcome
from granite.rt.recording.forecast import refuse_too_many_rows
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.run import Run, describe


def simulate_in_memory(bed: Testbed, *, keep: bool = True) -> Log:
    """Run the testbed in virtual time and keep its rows; a fault inside is raised.

    Without `keep` the rows are valid until the next run without it in this process, which writes over them.
    """
    refuse_too_many_rows(bed, Channels.of(bed), round(bed.loop.duration_s / bed.loop.period_s))
    repeated = _repeated_runs.of(bed)
    into = None if keep or repeated is None else _passing.block(repeated.run.ticks, repeated.run.channels.width)
    if repeated is not None and (made := repeated.rows(bed.seed, into)):
        return logged(bed, repeated.run, *made)
    run = Run(bed)
    memory = Memory(run.channels, run.ticks)
    outcome = run.execute(VirtualClock(), memory)
    return logged(bed, run, memory.rows, outcome)


class _PassingRows:
    """One block of memory for the rows of one run after the other: new memory is the dearer the larger it is."""

    def __init__(self) -> None:
        self._numbers = np.zeros(0)

    def block(self, ticks: int, width: int) -> Array:
        if len(self._numbers) < ticks * width:
            self._numbers = np.empty(ticks * width)
        return self._numbers[: ticks * width].reshape(ticks, width)


_passing = _PassingRows()


class _RepeatedRuns:
    """The compiled runs of the last testbeds, prepared once for all seeds and gains."""

    def __init__(self, most: int) -> None:
        self._most = most
        #: by the mode of the model and the testbed without law and seed: its law, and the run; None where a part has no
        #: compiled form
        self._runs: dict[str, tuple[str | None, CompiledRun | None]] = {}

    def of(self, bed: Testbed) -> CompiledRun | None:
        """The run of a testbed, which is to be given its seed."""
        text = to_json(bed.model_copy(update={"seed": 0}))
        content = json.loads(text)
        law = json.dumps(content["controller"].pop("law")) if content.get("controller") else ""
        key = f"{mode()} {json.dumps(content)}"
        prepared_law, prepared = self._runs.pop(key, (None, None))
        if prepared_law != law and not (prepared and prepared.take_gains(bed)):
            run = Run(from_json(text), in_loop=False)
            prepared = CompiledRun(run) if is_compilable(run) else None
        if prepared is None or prepared.is_repeatable:
            self._runs[key] = law, prepared
        while len(self._runs) > self._most:
            del self._runs[next(iter(self._runs))]
        return prepared


_repeated_runs = _RepeatedRuns(4)


def logged(bed: Testbed, run: Run, rows: Array, outcome: Outcome, truth: Truth | None = None) -> Log:
    """The log of a run from its rows, with events and summary; a fault inside is raised."""
    if outcome.fault is not None and outcome.reason is Reason.FAULT:
        raise outcome.fault
    summary = Summary(bed, run.channels)
    summary.update(rows)
    ending: Ending = {**run.ending(outcome, truth), "bed": bed.name, "seed": bed.seed}
    content: RunSummary = {**summary.result(), **ending, "log_failure": None}
    return Log(bed, describe(bed, False), run.channels, rows, _events(run, rows, ending), content, True)


def _events(run: Run, rows: Array, ending: Ending) -> tuple[dict[str, Any], ...]:
    """The events of a run in memory, as its recorder would write them."""
    events_so_far: list[dict[str, Any]] = []

    def report(t: float, tick: int, level: str, name: str, text: str) -> None:
        events_so_far.append({"t_s": t, "tick": tick, "level": level, "name": name, "text": text})

    events = Events(run.bed, run.channels, subjects(run.bed), report)
    if len(rows):
        events.look(rows)
    events.look_back(0, ending["ended"], ending["text"])
    return tuple(events_so_far)
