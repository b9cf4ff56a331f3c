"""A run: builds devices, controllers, guard and loop of a testbed, and closes the devices on every exit.

Hardware, simulation, rehearsal and replay are the same run with other devices.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from granite.config.errors import InputError
from granite.config.own_code import raised_in_own_code
from granite.config.parts import own_files, sources
from granite.config.reasons import Reason
from granite.config.records import Truth
from granite.config.run_modes import Request, RequestKind, waiting_sentence
from granite.config.testbed import Testbed
from granite.config.verdict_subjects import sentence, subjects
from granite.controllers.behaviours.planned import with_plan
from granite.controllers.run_modes.decelerations import can_brake
from granite.controllers.stack import Stack, build_stack
from granite.drivers.call_each import call_each
from granite.drivers.device_set import DeviceSet
from granite.kernels import compilation
from granite.logs.channels import Channels
from granite.logs.run_summary import Ending, RedundantContacts, RunSummary
from granite.logs.summary import named_values
from granite.logs.unfinished import recorded_at
from granite.rt.checks.after_stop import driven_after_stop
from granite.rt.devices import build_devices, sample_timing
from granite.rt.guard.guard import Guard
from granite.rt.half_real import refuse_open_loops
from granite.rt.live.live_view import LinkNews, LiveRequests, LiveView
from granite.rt.loop.clock import Clock, RealClock, VirtualClock
from granite.rt.loop.loop import Loop, LoopParts, Outcome, RowSink, Surroundings
from granite.rt.operator.request_sources import RequestSources
from granite.rt.preparation_failures import raised_at, refused_where_it_fails
from granite.rt.process.posix_signals import StopSignals
from granite.rt.process.provenance import provenance
from granite.rt.process.realtime import real_time
from granite.rt.process.run_register import RegisteredRun, registered
from granite.rt.process.status_line import preparing
from granite.rt.process.terminal import Terminal
from granite.rt.recording.forecast import announcement, refuse_too_large_a_log
from granite.rt.recording.recorder import Recorder
from granite.rt.recording.rows_in_memory import Memory
from granite.rt.recording.run_watch import RunWatch, disk_is_full
from granite.rt.rehearsal.rehearsal import Rehearsal
from granite.rt.ros2.options import Ros2, ros2_sentence
from granite.rt.run_options import RunOptions
from granite.rt.steps.compiled_steps import CompiledSteps, has_compiled_steps
from granite.rt.supervisor.mode_stacks import ModeParts
from granite.rt.supervisor.supervisor import RequestSource
from granite.sim.lab import Lab

if TYPE_CHECKING:
    from granite.rt.operator.link import OperatorLink

_USUAL = RunOptions()
#: for users of the library; the command line shows it by -v
_LOG = logging.getLogger("granite")


class Run:
    """Everything that one run of a testbed needs, compiled and in its starting state.

    Parameters
    ----------
    bed
        The testbed.
    simulate
        Names of the devices to simulate; None: all of them.
    rehearsal
        The emulated outside of the real drivers, instead of simulated devices.
    in_loop
        Whether the loop executes it: the steps are not compiled for a run that is compiled as a whole.
    lab
        That the run shares with others; None: it has one of its own.

    Raises
    ------
    InputError
        Where the testbed can't be run with these devices.
    """

    def __init__(
        self,
        bed: Testbed,
        simulate: Collection[str] | None = None,
        rehearsal: Rehearsal | None = None,
        *,
        in_loop: bool = True,
        lab: Lab | None = None,
    ) -> None:
        with refused_where_it_fails(bed.name):
            timing = sample_timing(rehearsal.bed) if rehearsal else sample_timing(bed, simulate)
            bed = with_plan(bed.with_changes(timing) if timing else bed)
        self.bed, self._rehearsal = bed, rehearsal
        is_hardware = simulate is not None and len(set(simulate)) < len(bed.devices)
        self._mode = "rehearsal" if rehearsal else "hardware" if is_hardware else "realtime"
        self.devices: DeviceSet
        #: the simulated lab, if a device is simulated
        self.lab: Lab | None
        with refused_where_it_fails(bed.name):
            self.channels = Channels.of(bed)
            built = (rehearsal.build_devices(), None) if rehearsal else build_devices(bed, simulate, lab=lab)
            self.devices, self.lab = built
            if simulate is not None:
                refuse_open_loops(bed, simulate)
            self.stack: Stack = build_stack(bed)
            self.guard = Guard(bed)
            #: controllers of the other modes
            self.modes = ModeParts(bed, self.stack)
            #: the steps from estimate to guard in compiled code; None: they are called in Python
            self.compiled_steps: CompiledSteps | None = None
            if in_loop and has_compiled_steps(bed):
                self.compiled_steps = CompiledSteps(bed, self.channels, self.stack, self.guard, self.modes)
            self.ticks = round(bed.loop.duration_s / bed.loop.period_s)
        #: requests of operators
        self.source: RequestSource | None = None
        self._link: OperatorLink | None = None
        self._is_used = False

    def loop(
        self,
        clock: Clock,
        sink: RowSink,
        signals: StopSignals | None = None,
        give_up: Callable[[Outcome], None] = lambda outcome: None,
    ) -> Loop:
        """The loop; its devices must be open. See `Loop`."""
        truth, between = (self.lab.truth, self.lab.advance) if self.lab else (None, None)
        if self.lab and (self.lab.is_driven or self.lab.is_shared):
            between = None  # what real actuators did in an interval is known at its end, as is what other loops do
        if self._rehearsal:
            truth = self._rehearsal.truth
        parts = LoopParts(
            self.bed, self.channels, self.devices, self.stack, self.guard, self.modes, self.compiled_steps
        )
        around = Surroundings(truth, between, signals or StopSignals(), give_up, self.source)
        return Loop(parts, clock, sink, around)

    def execute(self, clock: Clock, sink: RowSink) -> Outcome:
        """Open the devices, run the loop to its end, close the devices.

        A fault inside the loop is returned as `Outcome.fault`; a device that can't be opened raises. A signal that
        ended the run is passed on: after Ctrl-C, KeyboardInterrupt is raised when all is closed.
        """
        with StopSignals(clock.is_real) as signals:
            for outcome in self.ticking(clock, sink, signals):
                last = outcome
        return last

    def ticking(self, clock: Clock, sink: RowSink, signals: StopSignals) -> Iterator[Outcome]:
        """The same under signals that are caught already: gives the outcome so far before each tick, and at the end."""
        with self._open_devices(clock.is_real, signals) as not_closed:
            loop = self.loop(clock, sink, signals, self._give_up)
            yield from loop.ticking(self.ticks)
            loop.outcome.not_closed = not_closed
        yield loop.outcome

    @contextmanager
    def _open_devices(self, paced: bool, signals: StopSignals) -> Iterator[dict[str, str]]:
        """Open the devices, and close them at the end; yields those that will have failed to close, with the reason.

        Once: controllers and plant are in their initial state only at the first run.
        """
        if self._is_used:
            raise InputError("it has been run", key="run", expected="a new Run, which begins at the start")
        self._is_used = True
        not_closed: dict[str, str] = {}
        self.devices.open()
        try:
            yield not_closed
        finally:
            signals.tolerate(1)
            not_closed |= self.devices.close(paced)

    def record(self, log: Path | str, options: RunOptions = _USUAL, **named: Any) -> RunSummary:
        """Run and record into a log.

        Parameters
        ----------
        log
            The MCAP file to write.
        options
            How it is recorded.
        named
            Single options by their names, in place of those: `run.record("run.mcap", realtime=True)`.

        Returns
        -------
        RunSummary
            The summary of the run, as in the log.

        Raises
        ------
        InputError
            Where the log can't be written, or an option needs another one.
        """
        options = replace(options, **named)
        refuse_too_large_a_log(self.bed, self.channels, self.ticks, Path(log))
        with (
            StopSignals(options.realtime, options.pass_signals_on) as signals,
            self._listening(options, Path(log)),
            self._viewed(options) as view,
            self._registered(options, Path(log)),
        ):
            return self._record(Path(log), options, signals, view)

    def _registered(self, options: RunOptions, log: Path) -> AbstractContextManager[None]:
        """Others find the run where it can be watched or operated."""
        if options.live is None and not options.operator:
            return nullcontext()
        address = self.bed.operator.address if options.operator else None
        recorded = str(recorded_at(log).absolute())
        return registered(RegisteredRun(os.getpid(), self.bed.name, self._mode, recorded, options.live, address))

    @contextmanager
    def _listening(self, options: RunOptions, log: Path) -> Iterator[None]:
        """With an operator, the operator channel is there."""
        if not options.operator:
            yield
            return
        if not can_brake(self.bed):
            expected = "a planar testbed with a controller"
            raise InputError("it can't hold its pose", key="operator", expected=expected)
        from granite.rt.operator.keys import ROS2, key_folder  # most runs need no ZeroMQ
        from granite.rt.operator.link import OperatorLink

        more = [ROS2] if options.ros2 else []
        self.source = self._link = OperatorLink.start(self.bed, key_folder(), recorded_at(log), more)
        try:
            yield
        finally:
            self._link.close()

    @contextmanager
    def _viewed(self, options: RunOptions) -> Iterator[LiveView | None]:
        """The live view, if there is one; where its clients may set gains, it is a source of requests."""
        if options.live is None:
            yield None
            return
        with closing(LinkNews()) as links:
            if not options.live_gains:
                yield LiveView(options.live, links)
                return
            requests = LiveRequests(self.bed)
            self.source = RequestSources(self._link, requests) if self._link else requests
            try:
                yield LiveView(options.live, links, requests.ring)
            finally:
                requests.ring.close()

    def _record(self, log: Path, options: RunOptions, signals: StopSignals, live: LiveView | None) -> RunSummary:
        bed, realtime, recorder = self.bed, options.realtime, None
        ending: Ending = {"ended": "fault", "text": Reason.FAULT.text}
        more = {"mode": self._mode} if realtime else {}
        if options.wiggle:
            more["wiggle"] = "; ".join(options.wiggle)
        try:
            recorder = Recorder.start(  # before the devices are open: it is a fork, without their ports and threads
                bed,
                self.channels,
                log,
                info={**describe(bed, realtime, options.changes), **self._operators(), **more},
                virtual=not realtime,
                overwrite=options.overwrite,
                progress=options.progress,
                live=live,
                ros2=self._ros2(options),
            )
            if options.ros2:
                print(f"granite: {ros2_sentence(options.operator)}", file=Terminal())
            if live is not None:
                print(f"granite: live view: open ws://127.0.0.1:{live.port} in Foxglove", file=Terminal())
            _LOG.info("granite: run of %s into %s", bed.name, log)
            with self._open_devices(realtime, signals) as not_closed:
                clock = self._clock(realtime)
                loop = self.loop(clock, recorder, signals, partial(self._give_up, recorder=recorder))
                if self._link is not None:
                    loop.supervisor.own.append(Request(RequestKind.ATTACH))
                    self._link.is_at_rest = loop.supervisor.has_come_to_rest
                    self._link.standing = loop.supervisor.standing
                    print(f"granite: {waiting_sentence(bed.operator.address)}", file=Terminal())
                watch = self._watch(loop, recorder, log, options.progress, live) if realtime else nullcontext()
                with watch, real_time(bed.loop, enabled=realtime) as granted:
                    # A virtual run does not depend on the date, nor does its log.
                    recorder.begin(time.time_ns() if realtime else 0)
                    began = time.perf_counter()
                    outcome = loop.run(self.ticks)
                    took = time.perf_counter() - began
                truth = self.lab.truth(self.lab.plant.t) if self.lab and outcome.fault is None else None
                if realtime:
                    self._look_after_stop(outcome)
            outcome.not_closed = not_closed
            ending = {
                "bed": bed.name,
                "seed": bed.seed,
                "mode": self._mode if realtime else "virtual",
                "model": compilation.mode(),
                "log": str(log),
                **self.ending(outcome, truth),
                "redundant": self._redundant(),
                "wall_s": took,
                "real_time_factor": outcome.ticks * bed.loop.period_s / took,
                "asked_of_the_system": granted,
                "links": self.devices.links(),
            }
        finally:
            if recorder is not None:
                recorded = recorder.close(ending)
                _LOG.info("granite: run of %s ended by %s", bed.name, ending["ended"])
        if isinstance(outcome.fault, KeyboardInterrupt):
            raise outcome.fault  # the log is closed and the actuators are stopped
        return {**recorded.summary, "rows_lost": recorded.lost, "log_failure": recorded.failure}

    def _look_after_stop(self, outcome: Outcome) -> None:
        """Report motors that confirmed their stop and drive their joints on, and stop them again."""
        if outcome.not_stopped or outcome.reason in (Reason.WATCHDOG, Reason.FAULT, Reason.PLANT_LOST):
            return
        driven: dict[str, str] = {}
        why = call_each({"joints": lambda: driven.update(driven_after_stop(self.bed, self.devices, outcome.t)) or ""},
                        self.bed.loop.stop_timeout_s + 1.0)  # fmt: skip
        if driven:
            outcome.not_stopped = {**driven, **self.devices.stop(outcome.t, True)}
            if outcome.reason is Reason.PASSED:
                outcome.reason = Reason.STOP_NOT_CONFIRMED
        elif why:
            outcome.detail = outcome.detail or f"the joints could not be read after the stop: {why['joints']}"

    def _clock(self, realtime: bool) -> Clock:
        if self._rehearsal:
            return self._rehearsal.clock(self.bed.loop.spin_s)
        return RealClock(self.bed.loop.spin_s) if realtime else VirtualClock()

    def _ros2(self, options: RunOptions) -> Ros2 | None:
        """What the run has on ROS 2."""
        if not options.ros2:
            return None
        if not options.operator:
            return Ros2()
        from granite.rt.operator.keys import key_folder

        return Ros2(self.bed.operator.address, os.fspath(key_folder().absolute()))

    def _operators(self) -> dict[str, str]:
        """The operators of the run, for the log's metadata."""
        return {"operators": json.dumps(self._link.names)} if self._link else {}

    def _watch(self, loop: Loop, recorder: Recorder, log: Path, aloud: bool, live: LiveView | None) -> RunWatch:
        """Looks for faults outside the tick, prints the progress of the run, and tells the live view of the links."""
        link, least = self._link, self.bed.recording.least_free_mb
        checks: dict[Reason, Callable[[], bool]] = {
            Reason.RECORDER_LOST: lambda: not recorder.alive,
            Reason.DISK_FULL: lambda: disk_is_full(log, least),
        }
        if link:
            checks[Reason.OPERATOR_LOST] = lambda: not link.is_alive()
        supervisor = loop.supervisor
        say = (lambda sentence: print(f"granite: {sentence}", file=Terminal())) if aloud else None
        tell = (lambda: live.links.put(self.devices.newest_link_numbers())) if live else None
        return RunWatch(supervisor.own, checks, lambda: (supervisor.mode, supervisor.cause), say, tell)

    def _give_up(self, outcome: Outcome, recorder: Recorder | None = None) -> NoReturn:
        """Close the log and end the process: the loop's thread blocks and can't be interrupted."""
        ending = self.ending(outcome)
        if recorder is not None:
            recorder.close(ending)
        print(
            f"granite: the run ended at {outcome.t:.3f} s by {ending['ended']}: {ending['text']};"
            " it can't be interrupted, so the process ends",
            file=Terminal(),
        )
        os._exit(1)

    def _redundant(self) -> list[RedundantContacts]:
        return [
            {
                "contacts": list(held.contacts),
                "directions": list(held.directions),
                "condition": held.condition if math.isfinite(held.condition) else None,
            }
            for held in (self.lab.redundant() if self.lab else [])
        ]

    def ending(self, outcome: Outcome, truth: Truth | None = None) -> Ending:
        """How the run ended, for summary and log; `truth` is the plant's last state, where this lab's is not meant."""
        completed = outcome.reason is Reason.PASSED
        words: Ending = {
            "ended": "completed" if completed else outcome.reason.name.lower(),
            "text": "the run reached its end" if completed else outcome.reason.text,
            "ended_at_s": outcome.t,
        }
        if self.lab is not None and outcome.fault is None:
            # The last row is of the last tick; the plant moved on to the end of its period.
            truth = truth or self.lab.truth(self.lab.plant.t)
            words["final_t_s"] = truth.t
            words["final_state"] = named_values(self.bed.positions, truth.q)
            words["final_rate"] = named_values(self.bed.velocities, truth.u)
        if outcome.verdict is not None and outcome.verdict.stop:
            words["text"] = sentence(subjects(self.bed), outcome.verdict)
        if len(outcome.chain) > 1:
            names = [f"{Reason(fault.reason).name.lower()} at {fault.t:.3f} s" for fault in outcome.chain]
            words["chain"] = names
            words["text"] = f"{', then '.join(names)}; first: {sentence(subjects(self.bed), outcome.chain[0])}" + (
                f"; last: {words['text']}"
            )
        if outcome.detail:
            words["text"] += f": {outcome.detail}"
        if outcome.not_stopped:
            words["not_stopped"] = dict(outcome.not_stopped)
            words["text"] += f"; stop not confirmed: {_named(outcome.not_stopped)}"
        if outcome.not_closed:
            words["not_closed"] = dict(outcome.not_closed)
            words["text"] += f"; not closed: {_named(outcome.not_closed)}"
        if outcome.reason is Reason.PLANT_LOST:
            words["text"] = str(outcome.fault) if self._rehearsal else f"{words['text']}: {outcome.fault}"
        elif outcome.fault is not None:
            words["fault"] = f"{type(outcome.fault).__name__}: {outcome.fault}"
            files = own_files(self.bed)
            if files and (raised := raised_in_own_code(outcome.fault, files)):
                words["fault_in"] = str(raised)
            else:
                words["fault"] += raised_at(outcome.fault)
            words["traceback"] = "".join(traceback.format_exception(outcome.fault))
        return words


def simulate(
    bed: Testbed,
    log: Path,
    options: RunOptions = _USUAL,
    *,
    announce: Callable[[str], None] | None = None,
    **named: Any,
) -> RunSummary:
    """Run the testbed on the simulated plant into a log; the summary of the run. See `Run.record`.

    `announce` is called with a sentence before a long run starts.
    """
    options = replace(options, **named)
    with preparing(options.progress):
        run = Run(bed)
    refuse_too_large_a_log(bed, run.channels, run.ticks, log)
    time_per_tick = (lambda ticks: bed.loop.period_s) if options.realtime else partial(_time_per_tick, bed)
    if announce is not None and (sentence_before := announcement(bed, run.channels, run.ticks, time_per_tick)):
        announce(sentence_before)
    return run.record(log, options)


def describe(bed: Testbed, realtime: bool, changes: Sequence[str] = ()) -> dict[str, str]:
    """Metadata of a log beside the testbed."""
    return {
        **provenance(),
        "bed": bed.name,
        "seed": str(bed.seed),
        "mode": "realtime" if realtime else "virtual",
        "model": compilation.mode(),
        "changes": json.dumps(list(changes)),
        "sources": json.dumps(sources(bed)),
    }


def _named(devices: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({why})" for name, why in devices.items())


def _time_per_tick(bed: Testbed, ticks: int) -> float:
    """The time of a tick in virtual time, measured on the first ones of another run [s]."""
    trial = Run(bed)
    trial.ticks = ticks
    began = time.perf_counter()
    outcome = trial.execute(VirtualClock(), Memory(trial.channels, ticks))
    return (time.perf_counter() - began) / max(outcome.ticks, 1)
