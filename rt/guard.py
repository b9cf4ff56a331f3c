"""The guard step: no command goes out that was not checked.

A command passes, is clamped, or is replaced by rest (motors at zero, valves closed, grips as they are) with the name
of the reason, what it is about, the value found and the limit. The first reason found is the one that counts; they
stand in the order of what makes the others meaningless.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from struct import Struct

import numpy as np

from granite.config.records import Command, Frame, Reference, Sample, State, Verdict
from granite.config.testbed import Testbed
from granite.mrds.compilation import compile_functions
from granite.rt.limits import limits
from granite.rt.reasons import Reason

_NAN = math.nan
_PASSED = Reason.PASSED  # looking a member up takes longer than the check


class Guard:
    """The limits of a testbed."""

    def __init__(self, bed: Testbed) -> None:
        self._start_up = bed.safety.start_up_s
        self._first_broken = compile_functions("guard", [limits(bed)])["limits"].run
        self._status = Struct(f"{len(bed.sensors) + len(bed.actuators)}d").pack
        self._has_controller = bed.controller is not None
        self._bounds = [
            tuple(np.array(device.bounds(bed)).reshape(-1, 2).T) if device.clamps else None
            for device in bed.actuators.values()
        ]
        self._holds = [device.holds_at_rest for device in bed.actuators.values()]
        self._zero = [np.zeros(len(device.signals(bed))) for device in bed.actuators.values()]
        self._no_thrust = np.zeros(len(bed.thrusters))

    def rest(self, t: float, applied: Iterable[Frame]) -> Command:
        """Motors at zero, valves closed, grips as they are: what is held is not dropped."""
        each = zip(self._holds, applied, self._zero, strict=True)
        return Command(t, tuple(frame.values if holds else zero for holds, frame, zero in each), self._no_thrust)

    def check(self, sample: Sample, state: State, reference: Reference, command: Command) -> Verdict:
        """The command that may go out, with its reason."""
        t, frames, applied = command.t, sample.frames, sample.applied
        if not state.ready or (self._has_controller and not all(frame.number for frame in frames)):
            waiting = state.t < self._start_up
            reason = Reason.WAITING_FOR_SENSORS if waiting else Reason.SENSORS_NEVER_REPORTED
            missing = next((i for i, frame in enumerate(frames, start=1) if not frame.number), 0)
            return Verdict(t, self.rest(t, applied), reason, missing, _NAN, _NAN, reason.stops)
        found = self._first_broken(
            (
                *[frame.values for frame in frames],
                self._status(*[frame.status for frame in frames], *[frame.status for frame in applied]),
                state.ages, state.q, state.u, reference.q, *command.setpoints,
            )
        )  # fmt: skip
        code, subject, value, limit = found.tolist()
        if not code:
            return Verdict(t, command, _PASSED, 0, _NAN, _NAN, False)
        reason = Reason(int(code))
        if reason is Reason.SETPOINT_CLAMPED:
            return Verdict(t, self._clamped(command), reason, int(subject), value, limit, False)
        return Verdict(t, self.rest(t, applied), reason, int(subject), value, limit, reason.stops)

    def _clamped(self, command: Command) -> Command:
        """The command with every set point that may be cut within its bounds."""
        pairs = zip(command.setpoints, self._bounds, strict=True)
        return command._replace(
            setpoints=tuple(setpoint if bounds is None else np.clip(setpoint, *bounds) for setpoint, bounds in pairs)
        )
