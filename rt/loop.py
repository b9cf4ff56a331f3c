"""The loop: one tick after another at a fixed rate, and a safe command on every way out.

The same tick runs in virtual time, in real time and from a log; only clock, devices and recorder differ.
Ticks are periodic with absolute deadlines; commands are held until the next tick (zero-order hold). A tick that ends
after the next deadline is an overrun, handled by `loop.overrun`: skip, catch_up or stop.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from types import FrameType
from typing import Any, Protocol

from granite.config.errors import PlantLostError
from granite.config.records import Command, Frame, Sample, Timing, Truth, Verdict, new
from granite.config.testbed import Testbed
from granite.controllers.stack import Stack
from granite.rt.clock import Clock
from granite.rt.guard import Guard
from granite.rt.logs.channels import Channels
from granite.rt.reasons import Reason


class LoopDevices(Protocol):
    """The devices of the tick: a `DeviceSet`, or those of a log."""

    def read(self, t: float) -> Sample:
        """The newest frames by time t [s]."""

    def write(self, t: float, command: Command) -> tuple[Frame, ...]:
        """Send the command; returns the applied frame of each actuator."""

    def stop(self, t: float) -> None:
        """Bring every actuator to its safe state."""


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
    fault: BaseException | None = field(default=None, repr=False)


class Loop:
    """The loop of one run.

    Parameters
    ----------
    truth
        State of the simulated plant at a time, for the log.
    between
        Advances the simulated plant to the time of the next tick.
    """

    def __init__(
        self,
        bed: Testbed,
        channels: Channels,
        devices: LoopDevices,
        stack: Stack,
        guard: Guard,
        clock: Clock,
        sink: RowSink,
        truth: Callable[[float], Truth] | None = None,
        between: Callable[[float], None] | None = None,
    ) -> None:
        self._bed, self._devices, self._stack, self._guard = bed, devices, stack, guard
        self._clock, self._sink, self._truth, self._between = clock, sink, truth, between
        self._channels = channels
        self._record_lap = 0.0  # known only after the row is recorded: each row has that of the tick before
        self._lost = 0
        self._asked_to_stop = False
        self.outcome = Outcome()

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
        stack = self._stack
        t0 = perf_counter()
        sample = self._devices.read(t)
        t1 = perf_counter()
        state = stack.estimator.estimate(sample)
        t2 = perf_counter()
        reference = stack.behaviour.decide(state)
        t3 = perf_counter()
        demand = stack.law.control(state, reference)
        t4 = perf_counter()
        command = stack.actuation.allocate(state, reference, demand)
        t5 = perf_counter()
        verdict = self._guard.check(sample, state, reference, command)
        t6 = perf_counter()
        applied = self._devices.write(t, verdict.command)
        t7 = perf_counter()
        laps = t1 - t0, t2 - t1, t3 - t2, t4 - t3, t5 - t4, t6 - t5, t7 - t6, self._record_lap
        timing = new(Timing, (k, t, delay, laps, self._lost, self.outcome.overruns))
        truth = self._truth(t) if self._truth else None
        row = self._channels.pack(sample, state, reference, demand, command, verdict, applied, truth, timing)
        self._lost = self._sink.record(row)
        self._record_lap = perf_counter() - t7
        return verdict

    def run(self, ticks: int) -> Outcome:
        """Run `ticks` ticks, or until the guard, an overrun, a signal or an exception ends the run.

        The actuators are stopped on every exit. Exceptions are not raised: they are `Outcome.fault`.
        """
        outcome, signals = self.outcome, self._catch_signals()
        try:
            self._clock.start()
            self._run(ticks)
        except PlantLostError as lost:
            outcome.reason, outcome.fault = Reason.PLANT_LOST, lost
        except BaseException as fault:
            outcome.reason, outcome.fault = Reason.FAULT, fault
        finally:
            try:
                self._devices.stop(outcome.t)
            except BaseException as fault:
                outcome.reason, outcome.fault = Reason.FAULT, outcome.fault or fault
            for number, handler in signals.items():
                signal.signal(number, handler)
        return outcome

    def _run(self, ticks: int) -> None:
        outcome, period, policy = self.outcome, self._bed.loop.period_s, self._bed.loop.overrun
        k = 0
        while k < ticks:
            outcome.t = k * period
            delay = self._clock.wait_until(outcome.t)
            verdict = self.tick(k, outcome.t, delay)
            outcome.ticks += 1
            if self._between:
                self._between(outcome.t + period)
            if verdict.stop or self._asked_to_stop:
                outcome.verdict = verdict
                outcome.reason = Reason(verdict.reason) if verdict.stop else Reason.OPERATOR_STOP
                return
            late = int(self._clock.now() / period) - k
            if late > 0:
                outcome.overruns += 1
                if policy == "stop":
                    outcome.reason = Reason.OVERRUN
                    return
                if policy == "skip":
                    k += late
            k += 1

    def _catch_signals(self) -> dict[int, Any]:
        """SIGINT and SIGTERM end the run after the current tick."""

        def ask(number: int, frame: FrameType | None) -> None:
            self._asked_to_stop = True

        try:
            return {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread: the caller handles signals
            return {}
