"""The guard step: no command goes out that was not checked.

A command passes, is clamped, or is replaced by rest (motors at zero, valves closed, grips as they are) with the name
of the reason. The first reason found is the one that counts; they stand in the order of what makes the others
meaningless.
"""

from __future__ import annotations

from struct import Struct

import numpy as np

from granite.config.records import Command, Reference, Sample, State, Verdict, new
from granite.config.testbed import Testbed
from granite.mrds.compilation import compile_functions
from granite.rt.limits import limits
from granite.rt.reasons import Reason

_AGES = Struct("2d").pack
_PASSED = Reason.PASSED  # looking a member up takes longer than the check


class Guard:
    """The limits of a testbed."""

    def __init__(self, bed: Testbed) -> None:
        devices = bed.devices
        self._start_up = bed.safety.start_up_s
        self._first_broken = compile_functions("guard", [limits(bed)])["limits"].run
        self._torque = np.array([m.torque_limit_n_m for m in devices.motors])
        n_thrusters = len(devices.thrusters.units) if devices.thrusters else 0
        self._rest = (np.zeros(len(devices.motors)), np.zeros(n_thrusters), np.zeros(n_thrusters))

    def rest(self, t: float, sample: Sample) -> Command:
        """Motors at zero, valves closed, grips as they are: what is held is not dropped."""
        return Command(t, *self._rest, sample.applied.grip)

    def check(self, sample: Sample, state: State, reference: Reference, command: Command) -> Verdict:
        """The command that may go out, with its reason."""
        t = command.t
        if not state.ready:
            waiting = state.t < self._start_up
            reason = Reason.WAITING_FOR_SENSORS if waiting else Reason.SENSORS_NEVER_REPORTED
            return Verdict(t, self.rest(t, sample), reason, reason.stops)
        measured = (sample.joint_angle, sample.joint_rate, sample.pose, _AGES(state.joint_age, state.pose_age))
        asked = (command.torque, command.opening, command.grip)
        code = self._first_broken((*measured, state.q, state.u, reference.q, *asked)).item()
        if not code:
            return new(Verdict, (t, command, _PASSED, False))
        reason = Reason(int(code))
        if reason is Reason.TORQUE_CLAMPED:
            clamped = np.clip(command.torque, -self._torque, self._torque)
            return Verdict(t, command._replace(torque=clamped), reason, False)
        return Verdict(t, self.rest(t, sample), reason, reason.stops)
