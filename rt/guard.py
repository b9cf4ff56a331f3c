"""The guard step: no command goes out that was not checked.

A command passes, is clamped, or is replaced by rest (motors at zero, valves closed) with the name of the reason. The
first reason found is the one that counts; they stand in the order of what makes the others meaningless.
"""

from __future__ import annotations

import math

import numpy as np

from config.coordinates import velocities
from config.records import Command, Reference, Sample, State, Verdict
from config.testbed import Testbed
from rt.reasons import Reason


class Guard:
    """The limits of a testbed.

    The checks are on plain floats, which for a handful of numbers is far quicker than on arrays. A sum is finite only
    if all its parts are.
    """

    def __init__(self, bed: Testbed) -> None:
        safety, devices = bed.safety, bed.devices
        coordinates = velocities(bed.robot)
        names, n = [c.name for c in coordinates], len(coordinates)
        self._joint_age, self._vision_age = safety.joint_sensor_age_s, safety.vision_age_s
        self._start_up = safety.start_up_s
        self._floats = bed.robot.base == "floating"
        self._lower, self._upper = [-math.inf] * n, [math.inf] * n
        self._rate, self._why_place = [math.inf] * n, [Reason.JOINT_LIMIT] * n
        self._why_rate = [Reason.JOINT_TOO_FAST] * n
        for limit in safety.joints:
            i = names.index(limit.joint)
            self._lower[i], self._upper[i], self._rate[i] = limit.lower_rad, limit.upper_rad, limit.rate_rad_s
        if self._floats:
            self._why_place[:3], self._why_rate[:3] = [Reason.TABLE_EDGE] * 3, [Reason.BASE_TOO_FAST] * 3
            self._rate[2] = safety.base_rate_rad_s or math.inf
            if safety.table_m:
                self._lower[:2], self._upper[:2] = safety.table_m[:2], safety.table_m[2:]
        self._speed = safety.base_speed_m_s or math.inf
        self._error = [safety.tracking_error_m if c.unit == "m/s" else safety.tracking_error_rad for c in coordinates]
        self._torque = [m.torque_limit_n_m for m in devices.motors]
        n_thrusters = len(devices.thrusters.units) if devices.thrusters else 0
        self._rest = (np.zeros(len(devices.motors)), np.zeros(n_thrusters), np.zeros(n_thrusters))

    def rest(self, t: float) -> Command:
        """Motors at zero, valves closed."""
        return Command(t, *self._rest)

    def check(self, sample: Sample, state: State, reference: Reference, command: Command) -> Verdict:
        """The command that may go out, with its reason."""
        t = command.t
        reason = self._measured(sample, state) or self._moving(state, reference) or self._commanded(command)
        if reason is Reason.PASSED:
            return Verdict(t, command, reason, False)
        if reason is Reason.TORQUE_CLAMPED:
            limit = np.array(self._torque)
            clamped = np.clip(command.torque, -limit, limit)
            return Verdict(t, command._replace(torque=clamped), reason, False)
        return Verdict(t, self.rest(t), reason, reason.stops)

    def _measured(self, sample: Sample, state: State) -> Reason:
        if not state.ready:
            return Reason.WAITING_FOR_SENSORS if state.t < self._start_up else Reason.SENSORS_NEVER_REPORTED
        measured = sum(sample.joint_angle.tolist()) + sum(sample.joint_rate.tolist())
        if not math.isfinite(measured + sum(sample.pose.tolist()) if self._floats else measured):
            return Reason.SAMPLE_NOT_FINITE
        if not state.joint_age <= self._joint_age:
            return Reason.JOINT_SENSORS_STALE
        if not state.pose_age <= self._vision_age:
            return Reason.VISION_STALE
        return Reason.PASSED

    def _moving(self, state: State, reference: Reference) -> Reason:
        q, u, q_ref = state.q.tolist(), state.u.tolist(), reference.q.tolist()
        if not math.isfinite(sum(q) + sum(u)):
            return Reason.STATE_NOT_FINITE
        if not math.isfinite(sum(q_ref)):
            return Reason.REFERENCE_NOT_FINITE
        for x, lower, upper, reason in zip(q, self._lower, self._upper, self._why_place, strict=True):
            if not lower <= x <= upper:
                return reason
        for v, limit, reason in zip(u, self._rate, self._why_rate, strict=True):
            if not -limit <= v <= limit:
                return reason
        if self._floats and not math.hypot(u[0], u[1]) <= self._speed:
            return Reason.BASE_TOO_FAST
        for x, wanted, limit in zip(q, q_ref, self._error, strict=True):
            if not abs(wanted - x) <= limit:
                return Reason.TRACKING_ERROR
        return Reason.PASSED

    def _commanded(self, command: Command) -> Reason:
        torques, openings = command.torque.tolist(), command.opening.tolist()
        if not math.isfinite(sum(torques) + sum(openings)):
            return Reason.COMMAND_NOT_FINITE
        if openings and not (min(openings) >= 0.0 and max(openings) <= 1.0):
            return Reason.OPENING_OUT_OF_RANGE
        for torque, limit in zip(torques, self._torque, strict=True):
            if not -limit <= torque <= limit:
                return Reason.TORQUE_CLAMPED
        return Reason.PASSED
