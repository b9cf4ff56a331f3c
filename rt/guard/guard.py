"""The guard step: every command is checked before it is written.

A command passes, is clamped, or is replaced by rest (motors at zero, valves closed, grips as they are) with the name
of the reason, its subject, the value and the limit. The first reason counts: checks are ordered so that a failed one
makes those after it meaningless.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from granite.config.reasons import Reason
from granite.config.records import (
    NOTHING,
    Array,
    Command,
    Demand,
    Frame,
    Reference,
    Sample,
    State,
    Status,
    Verdict,
)
from granite.config.testbed import Testbed
from granite.controllers.distribution.yaw_wheel import no_unloading
from granite.kernels.compiled_form import CompiledForm
from granite.kernels.kernel import Buffer
from granite.rt.guard.limits import limits_of

_NAN = math.nan
# Looking up a member of an enumeration takes longer than the check.
_PASSED, _OK, _NO_FRAME, _SILENT = Reason.PASSED, int(Status.OK), int(Status.NO_FRAME), int(Status.SILENT)


class Guard:
    """The limits of a testbed."""

    def __init__(self, bed: Testbed) -> None:
        self._start_up = bed.safety.start_up_s
        self._limits = limits_of(bed)
        #: what the monitor remembers from tick to tick
        self.memory: Array = self._limits.memory.copy()
        #: only a controller uses sensors; once all have reported, a counter of zero has gone back
        self._waits = np.array([float(bed.controller is not None)])
        self._ranges = [np.array(device.bounds(bed)).reshape(-1, 2).T for device in bed.actuators.values()]
        self._clamps = [device.clamps for device in bed.actuators.values()]
        #: set points that were passed last
        initial = [np.array(device.initial(bed), dtype=np.float64) for device in bed.actuators.values()]
        self._all_passed = np.concatenate([NOTHING, *initial])
        ends = np.cumsum([len(setpoint) for setpoint in initial])
        self.passed = tuple(np.split(self._all_passed, ends)[:-1])
        self._holds = [device.holds_at_rest for device in bed.actuators.values()]
        self._zero = [np.zeros(len(device.signals(bed))) for device in bed.actuators.values()]
        self._no_thrust, self._not_unloading = np.zeros(len(bed.thrusters)), no_unloading(bed)
        for constant in (*self._zero, self._no_thrust, self._not_unloading):
            constant.setflags(write=False)
        #: asked where a limit is broken: whether the command passes in spite of it
        self.passes: Callable[[Reason, float, int, float, float], bool] = lambda reason, t, subject, value, limit: False

    def compiled_form(self) -> CompiledForm:
        """The check of a command that passes in C."""
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {
                "GUARD_MEMORY": len(self.memory),
                "STATUS_OK": _OK,
                "REASON_PASSED": int(_PASSED),
            },
            memory={
                "guard_memory": self.memory,
                "guard_waits": self._waits,
                "guard_passed": self._all_passed,
            },
            kernels={"guard_checked": [self._limits.checked]},
        )

    def rest(self, t: float, applied: Iterable[Frame]) -> Command:
        """Motors at zero, valves closed, grips as they are: a held object is not dropped.

        Grips whose report is not possible stay as they were commanded last.
        """
        setpoints = []
        for i, frame in enumerate(applied):
            lower, upper = self._ranges[i]
            possible = bool(((frame.values >= lower) & (frame.values <= upper)).all())
            held = frame.values if possible else self.passed[i].copy()
            setpoints.append(held if self._holds[i] else self._zero[i])
        return Command(t, tuple(setpoints), self._no_thrust, self._not_unloading)

    def check(self, sample: Sample, state: State, reference: Reference, demand: Demand, command: Command) -> Verdict:
        """The command to write, with its reason."""
        t = command.t
        if not state.ready:
            return self._not_ready(t, sample, state)
        for frame in sample.frames:  # a silent one is judged by the age of its frame
            if not _OK <= frame.status <= _SILENT or (self._waits[0] and not frame.number):
                return self._unusable(t, sample)
        self._waits[0] = 0.0
        for frame in sample.applied:
            if frame.status != _OK and (frame.status != _NO_FRAME or frame.number):  # none until the first set point
                return self._unusable(t, sample)
        frames = [(np.array(frame[:3], dtype=np.float64), frame.values) for frame in (*sample.frames, *sample.applied)]
        arguments: tuple[Buffer, ...] = (
            np.array([sample.t]), *(part for frame in frames for part in frame),
            state.ages, state.q, state.u, state.innovation, state.bias, state.correction, state.disturbance,
            state.faults, state.payload, reference.q, reference.u, reference.a, demand.acceleration, demand.force,
            demand.wrench, demand.distribution, *command.setpoints, command.thrust, self.memory.copy(), self._waits,
        )  # fmt: skip
        judged = self._limits.check(arguments)
        self.memory[:] = judged[1:]
        # At a limit of a distance the fast check may round to the other side.
        broken = [] if judged.item(0) else self._limits.broken(arguments)
        if not broken:
            self._all_passed[:] = np.concatenate([NOTHING, *command.setpoints])
            return Verdict(t, command, _PASSED, 0, _NAN, _NAN, False)
        for reason, subject, value, limit in broken:
            if reason.stops and not self.passes(reason, t, subject, value, limit):
                return self._refused(t, sample, reason, subject, value, limit)
        if any(reason is Reason.SETPOINT_CLAMPED for reason, *_ in broken):
            command = self._clamped(command)
        return Verdict(t, command, *broken[0], False)

    def _unusable(self, t: float, sample: Sample) -> Verdict:
        """The first device whose frame can't be used: it is missing, or its status is a fault."""
        for i, frame in enumerate(sample.frames, start=1):
            if not _OK <= frame.status <= _SILENT:
                return self._refused(t, sample, Reason.SENSOR_FAULT, i, frame.status, _NAN)
            if self._waits[0] and not frame.number:
                return self._waiting(t, sample, i)
        for i, frame in enumerate(sample.applied, start=len(sample.frames) + 1):
            if frame.status != _OK and (frame.status != _NO_FRAME or frame.number):
                return self._refused(t, sample, Reason.ACTUATOR_FAULT, i, frame.status, _NAN)
        raise AssertionError("every frame can be used")

    def _not_ready(self, t: float, sample: Sample, state: State) -> Verdict:
        """A sensor has not reported yet, has only reported numbers that are not finite, or is broken."""
        signal = 1 + len(sample.frames) + len(sample.applied)  # the first one among the subjects
        for i, frame in enumerate(sample.frames, start=1):
            if not _OK <= frame.status <= _SILENT:
                return self._refused(t, sample, Reason.SENSOR_FAULT, i, frame.status, _NAN)
            for value in frame.values.tolist():
                if self._waits[0] and frame.number and not math.isfinite(value):
                    return self._refused(t, sample, Reason.SAMPLE_NOT_FINITE, signal, value, _NAN)
                signal += 1
        unused = np.flatnonzero(np.isnan(state.ages))
        return self._waiting(t, sample, int(unused[0]) + 1 if len(unused) else 0)

    def _waiting(self, t: float, sample: Sample, subject: int) -> Verdict:
        """Rest until every sensor has reported, at most for safety.start_up_s."""
        if t < self._start_up:
            return self._refused(t, sample, Reason.WAITING_FOR_SENSORS, subject, t, self._start_up)
        return self._refused(t, sample, Reason.SENSORS_NEVER_REPORTED, subject, t, self._start_up)

    def _refused(self, t: float, sample: Sample, reason: Reason, subject: int, value: float, limit: float) -> Verdict:
        return Verdict(t, self.rest(t, sample.applied), reason, subject, value, limit, reason.stops)

    def _clamped(self, command: Command) -> Command:
        """The command with its set points clamped to their bounds, where clamping is allowed."""
        each = zip(command.setpoints, self._clamps, self._ranges, strict=True)
        return command._replace(
            setpoints=tuple(np.clip(setpoint, *bounds) if clamps else setpoint for setpoint, clamps, bounds in each)
        )
