"""The guard step: no command goes out that was not checked.

A command passes, is clamped, or is replaced by rest (motors at zero, valves closed) with the name of the reason. The
first reason found is the one that counts; they stand in the order of what makes the others meaningless.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from config.coordinates import velocities
from config.records import Array, Command, Reference, Sample, State, Verdict
from config.testbed import Testbed
from rt.reasons import Reason


class Guard:
    """The limits of a testbed."""

    def __init__(self, bed: Testbed) -> None:
        safety, devices = bed.safety, bed.devices
        coordinates = velocities(bed.robot)
        names, n = [c.name for c in coordinates], len(coordinates)
        self._joint_age, self._vision_age = safety.joint_sensor_age_s, safety.vision_age_s
        self._start_up = safety.start_up_s
        self._torque_limit = np.array([m.torque_limit_n_m for m in devices.motors])
        lower, upper, rate = np.full(n, -np.inf), np.full(n, np.inf), np.full(n, np.inf)
        for limit in safety.joints:
            i = names.index(limit.joint)
            lower[i], upper[i], rate[i] = limit.lower_rad, limit.upper_rad, limit.rate_rad_s
        self._floats = bed.robot.base == "floating"
        if self._floats:
            rate[2] = safety.base_rate_rad_s or np.inf
            if safety.table_m:
                lower[0], lower[1], upper[0], upper[1] = safety.table_m
        self._speed = safety.base_speed_m_s or math.inf
        # Position, rate and tracking error of every coordinate as distances from a middle: one comparison in the tick.
        bounded = np.isfinite(upper)
        self._middle = np.where(bounded, (np.where(bounded, lower, 0) + np.where(bounded, upper, 0)) / 2, 0.0)
        tolerance = [_tolerance(bed, c.unit) for c in coordinates]
        self._limit = np.stack((upper - self._middle, rate, tolerance))
        self._distance = np.zeros((3, n))
        n_thrusters = len(devices.thrusters.units) if devices.thrusters else 0
        self._rest = (np.zeros(len(devices.motors)), np.zeros(n_thrusters), np.zeros(n_thrusters))

    def rest(self, t: float) -> Command:
        """Motors at zero, valves closed."""
        return Command(t, *self._rest)

    def check(self, sample: Sample, state: State, reference: Reference, command: Command) -> Verdict:
        """The command that may go out, with its reason."""
        t, reason = command.t, self._reason(sample, state, reference, command)
        if reason is not Reason.PASSED:
            return Verdict(t, self.rest(t), reason, reason.stops)
        if (np.abs(command.torque) > self._torque_limit).any():
            clamped = np.clip(command.torque, -self._torque_limit, self._torque_limit)
            return Verdict(t, command._replace(torque=clamped), Reason.TORQUE_CLAMPED, False)
        return Verdict(t, command, Reason.PASSED, False)

    def _reason(self, sample: Sample, state: State, reference: Reference, command: Command) -> Reason:
        if not state.ready:
            return Reason.WAITING_FOR_SENSORS if state.t < self._start_up else Reason.SENSORS_NEVER_REPORTED
        if not _finite(sample.joint_angle, sample.joint_rate, sample.pose if self._floats else sample.joint_angle):
            return Reason.SAMPLE_NOT_FINITE
        if not _finite(state.q, state.u):
            return Reason.STATE_NOT_FINITE
        if not _finite(reference.q):
            return Reason.REFERENCE_NOT_FINITE
        if not _finite(command.torque, command.opening, command.thrust):
            return Reason.COMMAND_NOT_FINITE
        if not state.joint_age <= self._joint_age:
            return Reason.JOINT_SENSORS_STALE
        if not state.pose_age <= self._vision_age:
            return Reason.VISION_STALE
        return self._limits(state, reference, command)

    def _limits(self, state: State, reference: Reference, command: Command) -> Reason:
        distance, u = self._distance, state.u
        np.subtract(state.q, self._middle, out=distance[0])
        distance[1] = u
        np.subtract(reference.q, state.q, out=distance[2])
        beyond = np.abs(distance) > self._limit
        if beyond.any():
            return self._named(beyond)
        if self._floats and math.hypot(u[0], u[1]) > self._speed:
            return Reason.BASE_TOO_FAST
        opening = command.opening
        if opening.size and not (opening.min() >= 0.0 and opening.max() <= 1.0):
            return Reason.OPENING_OUT_OF_RANGE
        return Reason.PASSED

    def _named(self, beyond: NDArray[np.bool_]) -> Reason:
        position, rate, _ = beyond
        if position.any():
            return Reason.TABLE_EDGE if self._floats and position[:2].any() else Reason.JOINT_LIMIT
        if rate.any():
            return Reason.BASE_TOO_FAST if self._floats and rate[2] else Reason.JOINT_TOO_FAST
        return Reason.TRACKING_ERROR


def _finite(*arrays: Array) -> bool:
    # A sum of squares is finite exactly if every entry is (and none is absurdly large).
    for array in arrays:
        if not math.isfinite(array.dot(array)):
            return False
    return True


def _tolerance(bed: Testbed, unit: str) -> float:
    return bed.safety.tracking_error_m if unit == "m/s" else bed.safety.tracking_error_rad
