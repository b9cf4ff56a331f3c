"""A run: builds devices, controllers, guard and loop of a testbed, and closes the devices on every exit.

Hardware, simulation, rehearsal and replay are the same run with other devices.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from granite.config.errors import InputError
from granite.config.parts import sources
from granite.config.testbed import Testbed
from granite.controllers.stack import Stack, build_stack
from granite.drivers.device_set import DeviceSet
from granite.mrds import compilation
from granite.rt.clock import Clock, RealClock, VirtualClock
from granite.rt.devices import build_devices
from granite.rt.failures import raised_at, refused_where_it_fails
from granite.rt.forecast import announcement, refuse_too_large_a_log, refuse_too_many_rows
from granite.rt.guard import Guard
from granite.rt.limits import sentence, subjects
from granite.rt.logs.channels import Channels
from granite.rt.logs.log import Log
from granite.rt.logs.run_summary import Ending, RedundantContacts, RunSummary
from granite.rt.logs.summary import Summary
from granite.rt.loop import Loop, Outcome, RowSink
from granite.rt.memory import Memory
from granite.rt.preparing import preparing
from granite.rt.realtime import real_time
from granite.rt.reasons import Reason
from granite.rt.recorder import Recorder
from granite.sim.lab import Lab


class Run:
    """Everything that one run of a testbed needs, compiled and in its starting state.

    Parameters
    ----------
    bed
        The testbed.
    simulate
        Names of the devices to simulate; None: all of them.

    Raises
    ------
    InputError
        Where the testbed can't be run with these devices.
    """

    def __init__(self, bed: Testbed, simulate: Collection[str] | None = None) -> None:
        self.bed = bed
        self.devices: DeviceSet
        #: the simulated lab, if a device is simulated
        self.lab: Lab | None
        with refused_where_it_fails(bed.name):
            self.channels = Channels.of(bed)
            self.devices, self.lab = build_devices(bed, simulate)
            self.stack: Stack = build_stack(bed)
            self.guard = Guard(bed)
            self.ticks = round(bed.loop.duration_s / bed.loop.period_s)
        self._is_used = False

    def loop(self, clock: Clock, sink: RowSink) -> Loop:
        """The loop; its devices must be open.

        Parameters
        ----------
        clock
            Virtual or real time.
        sink
            Receives the row of each tick.
        """
        truth, between = (self.lab.truth, self.lab.advance) if self.lab else (None, None)
        return Loop(self.bed, self.channels, self.devices, self.stack, self.guard, clock, sink, truth, between)

    def execute(self, clock: Clock, sink: RowSink) -> Outcome:
        """Open the devices, run the loop to its end, close the devices.

        A fault inside the loop is returned as `Outcome.fault`; a device that can't be opened raises.
        """
        with self._open_devices():
            return self.loop(clock, sink).run(self.ticks)

    @contextmanager
    def _open_devices(self) -> Iterator[None]:
        """Once: controllers and plant are in their initial state only at the first run."""
        if self._is_used:
            raise InputError("it has been run", key="run", expected="a new Run, which begins at the start")
        self._is_used = True
        self.devices.open()
        try:
            yield
        finally:
            self.devices.close()

    def record(
        self,
        log: Path | str,
        *,
        realtime: bool = False,
        overwrite: bool = False,
        progress: bool = False,
        changes: Sequence[str] = (),
    ) -> RunSummary:
        """Run and record into a log.

        Parameters
        ----------
        log
            The MCAP file to write.
        realtime
            Keep pace with wall-clock time; else in virtual time, as fast as the machine runs.
        overwrite
            Replace the log if it exists.
        progress
            Draw a progress bar on standard error.
        changes
            Changes of the testbed, such as those by `--set`, as text for the log's metadata.

        Returns
        -------
        RunSummary
            The summary of the run, as in the log.

        Raises
        ------
        InputError
            Where the log can't be written.
        """
        refuse_too_large_a_log(self.bed, self.channels, self.ticks, Path(log))
        with self._open_devices():
            return self._record(Path(log), realtime, overwrite, progress, changes)

    def _record(self, log: Path, realtime: bool, overwrite: bool, progress: bool, changes: Sequence[str]) -> RunSummary:
        bed = self.bed
        recorder = Recorder.start(
            bed,
            self.channels,
            log,
            info=describe(bed, realtime, changes),
            virtual=not realtime,
            # A virtual run does not depend on the date, nor does its log.
            start_ns=time.time_ns() if realtime else 0,
            overwrite=overwrite,
            progress=progress,
        )
        ending: Ending = {"ended": "fault", "text": Reason.FAULT.text}
        try:
            with real_time(bed.loop, enabled=realtime) as granted:
                clock = RealClock(bed.loop.spin_s) if realtime else VirtualClock()
                began = time.perf_counter()
                outcome = self.loop(clock, recorder).run(self.ticks)
                took = time.perf_counter() - began
            ending = {
                "bed": bed.name,
                "seed": bed.seed,
                "mode": "realtime" if realtime else "virtual",
                "model": compilation.mode(),
                "log": str(log),
                **self.ending(outcome),
                "redundant": self._redundant(),
                "wall_s": took,
                "real_time_factor": outcome.ticks * bed.loop.period_s / took,
                "asked_of_the_system": granted,
            }
        finally:
            recorded = recorder.close(ending)
        if isinstance(outcome.fault, KeyboardInterrupt):
            raise outcome.fault  # the log is closed and the actuators are stopped
        return {**recorded.summary, "rows_lost": recorded.lost, "log_failure": recorded.failure}

    def _redundant(self) -> list[RedundantContacts]:
        return [
            {
                "contacts": list(held.contacts),
                "directions": list(held.directions),
                "condition": held.condition if math.isfinite(held.condition) else None,
            }
            for held in (self.lab.redundant() if self.lab else [])
        ]

    def ending(self, outcome: Outcome) -> Ending:
        """How the run ended, for summary and log."""
        completed = outcome.reason is Reason.PASSED
        words: Ending = {
            "ended": "completed" if completed else outcome.reason.name.lower(),
            "text": "the run reached its end" if completed else outcome.reason.text,
            "ended_at_s": outcome.t,
        }
        if outcome.verdict is not None and outcome.verdict.stop:
            words["text"] = sentence(subjects(self.bed), outcome.verdict)
        if outcome.reason is Reason.PLANT_LOST:
            words["text"] += f": {outcome.fault}"
        elif outcome.fault is not None:
            words["fault"] = f"{type(outcome.fault).__name__}: {outcome.fault}{raised_at(outcome.fault)}"
            words["traceback"] = "".join(traceback.format_exception(outcome.fault))
        return words


def simulate(
    bed: Testbed,
    log: Path,
    *,
    realtime: bool = False,
    overwrite: bool = False,
    progress: bool = False,
    changes: Sequence[str] = (),
    announce: Callable[[str], None] | None = None,
) -> RunSummary:
    """Run the testbed on the simulated plant into a log; the summary of the run. See `Run.record`.

    `announce` is called with a sentence before a long run starts.
    """
    with preparing(progress):
        run = Run(bed)
    refuse_too_large_a_log(bed, run.channels, run.ticks, log)
    if announce is not None and (sentence_before := announcement(run, realtime)):
        announce(sentence_before)
    return run.record(log, realtime=realtime, overwrite=overwrite, progress=progress, changes=changes)


def simulate_in_memory(bed: Testbed) -> Log:
    """Run the testbed in virtual time and keep its rows; a fault inside is raised."""
    run = Run(bed)
    refuse_too_many_rows(bed, run.channels, run.ticks)
    memory = Memory(run.channels, run.ticks)
    outcome = run.execute(VirtualClock(), memory)
    if outcome.fault is not None and outcome.reason is Reason.FAULT:
        raise outcome.fault
    summary = Summary(bed, run.channels)
    summary.update(memory.rows)
    ending: Ending = {**run.ending(outcome), "bed": bed.name, "seed": bed.seed}
    found: RunSummary = {**summary.result(), **ending, "log_failure": None}
    return Log(bed, describe(bed, False), run.channels, memory.rows, (), found, True)


def describe(bed: Testbed, realtime: bool, changes: Sequence[str] = ()) -> dict[str, str]:
    """Metadata of a log beside the testbed."""
    return {
        "granite": importlib.metadata.version("granite-robotics"),
        "bed": bed.name,
        "seed": str(bed.seed),
        "mode": "realtime" if realtime else "virtual",
        "model": compilation.mode(),
        "changes": json.dumps(list(changes)),
        "sources": json.dumps(sources(bed)),
    }
