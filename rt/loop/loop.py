"""The loop: one tick after another at a fixed rate, and a safe command on every way out.

The same tick runs in virtual time, in real time and from a log; only clock, devices and recorder differ.
Ticks are periodic with absolute deadlines; commands are held until the next tick (zero-order hold). A tick that ends
after the next deadline is an overrun, handled by `loop.overrun`: skip, catch_up or stop. Whatever the policy, a command
later than `loop.longest_lateness_s` is not written, and the run ends.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

from granite.config.errors import PlantLostError
from granite.config.reasons import Reason
from granite.config.records import Command, Frame, Sample, Timing, Truth, Verdict
from granite.config.run_modes import Request, RequestKind
from granite.config.testbed import Testbed
from granite.controllers.stack import Stack
from granite.logs.channels import Channels
from granite.rt.guard.guard import Guard
from granite.rt.loop.clock import Clock, TooLateError, refuse_late
from granite.rt.loop.watchdog import Watchdog
from granite.rt.process.posix_signals import SignalInterrupt, StopSignals
from granite.rt.steps.compiled_steps import CompiledSteps
from granite.rt.steps.step_by_step import StepByStep, Steps
from granite.rt.supervisor.mode_stacks import ModeParts
from granite.rt.supervisor.supervisor import RequestSource, Supervisor

#: what a signal asks for, where it is no ordinary stop; Ctrl-\\ is the emergency stop of the keyboard
_ASKED = {"SIGQUIT": RequestKind.EMERGENCY_STOP}
#: overruns within this time are a burst [s]
_BURST_S = 1.0


class LoopDevices(Protocol):
    """The devices of the tick: a `DeviceSet`, or those of a log."""

    def read(self, t: float, delay: float) -> Sample:
        """The newest frames by time t [s], in a tick that is late by the delay [s]."""

    def write(self, t: float, command: Command) -> tuple[Frame, ...]:
        """Send the command; returns the applied frame of each actuator."""

    def stop(self, t: float, paced: bool = False) -> Mapping[str, str]:
        """Bring every actuator to its safe state; those that did not confirm it, each with the reason."""


class RowSink(Protocol):
    """Receives the row of each tick."""

    def record(self, row: bytes) -> int:
        """Record the row; returns the number of rows lost so far."""


@dataclass
class Outcome:
    """How a run ended."""

    reason: Reason = Reason.PASSED
    ticks: int = 0
    overruns: int = 0
    t: float = 0.0
    verdict: Verdict | None = field(default=None, repr=False)
    #: the faults that led there, in the order of their notice
    chain: tuple[Verdict, ...] = field(default=(), repr=False)
    fault: BaseException | None = field(default=None, repr=False)
    #: the signal that ended the run, the lateness, or where the loop was blocked
    detail: str = ""
    #: actuators that did not confirm their stop, and devices that could not be closed, each with the reason
    not_stopped: Mapping[str, str] = field(default_factory=dict)
    not_closed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LoopParts:
    """What the tick is made of."""

    bed: Testbed
    channels: Channels
    devices: LoopDevices
    stack: Stack
    guard: Guard
    #: controllers of the other modes; None: they are built here
    modes: ModeParts | None = None
    #: the steps in one compiled call; None: step by step
    compiled: CompiledSteps | None = None


@dataclass(frozen=True)
class Surroundings:
    """What is around the loop."""

    #: state of the simulated plant at a time, for the log
    truth: Callable[[float], Truth] | None = None
    #: advances the simulated plant to the time of the next tick
    between: Callable[[float], None] | None = None
    #: signals that end the run; they are caught by the caller
    signals: StopSignals = field(default_factory=StopSignals)
    #: called by the watchdog when this loop's thread blocks and can't be interrupted; ends the process
    give_up: Callable[[Outcome], None] = lambda outcome: None
    #: requests of operators
    source: RequestSource | None = None


class Loop:
    """The loop of one run."""

    def __init__(self, parts: LoopParts, clock: Clock, sink: RowSink, around: Surroundings | None = None) -> None:
        around, bed, channels = around or Surroundings(), parts.bed, parts.channels
        self._bed, self._devices = bed, parts.devices
        self.supervisor = Supervisor(bed, parts.stack, parts.guard, around.source, parts.modes)
        self._steps: Steps = parts.compiled or StepByStep(channels, parts.guard)
        self._steps.begin(self.supervisor)
        self._clock, self._sink, self._truth, self._between = clock, sink, around.truth, around.between
        self._channels = channels
        self._record_lap = 0.0  # known only after the row is recorded: each row has that of the tick before
        self._lost = 0
        self._signals = around.signals
        self._overrun_times: deque[float] = deque(maxlen=bed.safety.burst_overruns)
        self._longest_lateness = bed.loop.lateness_limit_s
        self.outcome = Outcome()
        self._watchdog = Watchdog(
            bed.loop.watchdog_limit_s,
            progress=lambda: self.outcome.ticks,
            stop=self._stop,
            signals=self._signals,
            give_up=lambda: around.give_up(self._ended_by_watchdog()),
        )

    def tick(self, k: int, t: float, delay: float) -> Verdict:
        """One tick: read, estimate, decide, control, allocate, guard, write, record.

        Parameters
        ----------
        k
            Number of the tick.
        t
            Its deadline [s].
        delay
            Of the wake-up behind the deadline [s].
        """
        t0 = perf_counter()
        supervisor = self.supervisor
        stack, mode = supervisor.begin(t), supervisor.mode
        sample = self._devices.read(t, delay)
        t1 = perf_counter()
        verdict, decision, laps = self._steps.run(sample, stack)  # estimate, decide, control, allocate, guard
        self._refuse_late(t)
        t2 = perf_counter()
        applied = self._devices.write(t, verdict.command)
        t3 = perf_counter()
        steps = t1 - t0, *laps, t2 - t1 - sum(laps), t3 - t2, self._record_lap
        timing = Timing(k, t, delay, steps, self._lost, self.outcome.overruns)
        operation = supervisor.operation(t, mode, verdict)
        truth = self._truth(t) if self._truth else None  # time of the plant, not of the tick: a robot tells none
        t4 = perf_counter()
        self._lost = self._sink.record(self._channels.completed(decision, applied, truth, timing, operation))
        self._record_lap = perf_counter() - t4
        return verdict

    def run(self, ticks: int) -> Outcome:
        """Run `ticks` ticks, or until the guard, lateness, a signal, the watchdog or an exception ends the run.

        The actuators are stopped on every exit. Exceptions are not raised: they are `Outcome.fault`.
        """
        for _ in self.ticking(ticks):
            pass
        return self.outcome

    def ticking(self, ticks: int) -> Iterator[Outcome]:
        """The same, where others run between ticks: it gives the outcome so far before each of them."""
        outcome = self.outcome
        try:
            with self._watchdog if self._clock.is_real else nullcontext(), self._signals.noted():
                self._clock.start()
                yield from self._ticks(ticks)
        except PlantLostError as lost:
            outcome.reason, outcome.fault = Reason.PLANT_LOST, lost
        except TooLateError as late:
            outcome.reason, outcome.detail = Reason.TOO_LATE, str(late)
        except SignalInterrupt:
            outcome.reason = Reason.OPERATOR_STOP
        except BaseException as fault:
            outcome.reason, outcome.fault = Reason.FAULT, fault
        finally:
            self._signals.patience = math.inf
            self._stop()
        if self._watchdog.fired_at:
            self._ended_by_watchdog()
        elif outcome.reason in (Reason.OPERATOR_STOP, Reason.EMERGENCY_STOP):
            outcome.detail = self._signals.first or self.supervisor.stopped_by
        elif outcome.reason is Reason.PASSED and outcome.not_stopped:
            outcome.reason = Reason.STOP_NOT_CONFIRMED

    def _ticks(self, ticks: int) -> Iterator[Outcome]:
        outcome, period, policy = self.outcome, self._bed.loop.period_s, self._bed.loop.overrun
        k, is_asked = 0, False
        while k < ticks + self.supervisor.idle_ticks:
            outcome.t = k * period
            yield outcome
            delay = self._clock.wait_until(outcome.t)
            verdict = self.tick(k, outcome.t, delay)
            outcome.ticks += 1
            if self._between:
                self._between(outcome.t + period)
            if verdict.stop:
                break
            if self._signals.first and not is_asked:
                is_asked = True
                self.supervisor.own.append(Request(_ASKED.get(self._signals.first, RequestKind.STOP)))
            late = int(self._clock.now() / period) - k
            if late > 0:
                outcome.overruns += 1
                self._note_overrun(outcome.t)
                if policy == "stop":
                    outcome.reason = Reason.OVERRUN
                    return
                if policy == "skip":
                    k += late
            k += 1
        if (ended_by := self.supervisor.ended_by) is not None:
            outcome.verdict, outcome.reason = ended_by, Reason(ended_by.reason)
            outcome.chain = tuple(self.supervisor.chain)

    def _note_overrun(self, t: float) -> None:
        """Report a burst once, when it is full."""
        burst = self._overrun_times
        burst.append(t)
        if len(burst) == burst.maxlen and t - burst[0] < _BURST_S:
            burst.clear()
            self.supervisor.own.append(Request(RequestKind.REPORT, argument=Reason.OVERRUN_BURST))

    def _refuse_late(self, t: float) -> None:
        """Raise before an old command is written: after a pause of the process, or after the watchdog's stop."""
        refuse_late(self._clock.now() - t, self._longest_lateness)
        if self._watchdog.fired_at:
            raise SignalInterrupt

    def _stop(self) -> None:
        self.outcome.not_stopped = self._devices.stop(self.outcome.t, self._clock.is_real)

    def _ended_by_watchdog(self) -> Outcome:
        self.outcome.reason, self.outcome.detail = Reason.WATCHDOG, f"the loop was at {self._watchdog.fired_at}"
        return self.outcome
