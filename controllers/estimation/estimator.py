"""The estimate step: joint sensors and late vision poses, fused through the model into q and u."""

from __future__ import annotations

import math
from struct import Struct

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Applied, Array, Sample, State, new
from granite.config.testbed import Testbed
from granite.controllers.estimation.joint_filter import JointFilter, joint_filter
from granite.controllers.estimation.pose_filter import PoseFilter
from granite.controllers.estimation.prediction import n_states, prediction
from granite.controllers.thrusters.delivery import Delivery, build_delivery
from granite.mrds.compilation import compile_functions

_NUMBERS = Struct("2d").pack
_NOTHING = np.zeros(0)


class Estimator:
    """Predicts with the model under what the actuators applied, corrects with what the sensors measured."""

    def __init__(self, bed: Testbed) -> None:
        _refuse_what_is_not_measured(bed)
        self._period = bed.loop.period_s
        names = [v.name for v in bed.estimated_velocities]
        self._n, joints = len(names), _joints(bed)
        self._end_x = n_states(bed, joints)
        self._end_deviation = self._end_x + self._n
        self._pose, self._delivery = _pose(bed, self._n, self._end_x), _delivery(bed)
        function = prediction(bed, joints, self._pose.deviation_function if self._pose else None)
        self._run = compile_functions("estimator", [function])["prediction"].run
        sensed = bed.devices.joint_sensors.joints if bed.devices.joint_sensors else ()
        self._places = [names.index(j) for j in sensed]
        # New arrays in every tick, so that the state may show parts of them.
        self._x, self._deviation = np.zeros(self._end_x), np.zeros(self._n)
        self._begun, self._t, self._joint_taken = False, math.nan, math.nan
        self._joint_count, self._pose_count = 0.0, 0.0

    def estimate(self, sample: Sample) -> State:
        """q and u at the time of the sample."""
        t, joint_taken, joint_count, angle, rate, exposed, pose_count, measured, applied = sample
        fresh = joint_count > self._joint_count and _finite(angle.tolist() + rate.tolist())
        if self._begun:
            self._predict(t, applied, angle, rate, fresh and self._joint_count > 0)
        self._t, self._begun = t, True
        if fresh:
            if self._joint_count == 0:
                self._start_joints(angle, rate)
            self._joint_count, self._joint_taken = joint_count, joint_taken
        pose, pose_age, ready = self._pose, 0.0, self._joint_count > 0 or not self._places
        if pose:
            if pose_count > self._pose_count:
                self._pose_count = pose_count
                self._take_pose(pose, t, exposed, measured)
            pose_age, ready = t - pose.exposed, ready and pose.started
        n, x, joint_age = self._n, self._x, t - self._joint_taken if self._places else 0.0
        return new(State, (t, ready, x[:n], x[n : 2 * n], self._deviation, pose_age, joint_age))

    def _predict(self, now: float, applied: Applied, angle: Array, rate: Array, fresh: bool) -> None:
        """Carry the estimate to now, one period after the other: a skipped tick is two of them."""
        told, torque, opening, _ = applied
        before, period, pose, delivery = self._t, self._period, self._pose, self._delivery
        if delivery:
            delivery.command(told, opening)
        periods = max(round((now - before) / period), 1)
        for k in range(1, periods + 1):
            t = before + k * period if k < periods else now
            if delivery:
                opening = delivery.mean_opening(t - period, t)
            age, covariance = (t - pose.exposed, pose.covariance) if pose else (0.0, _NOTHING)
            found = self._run(
                (self._x, torque, opening, angle, rate, _NUMBERS(fresh and k == periods, age), covariance)
            )
            self._x, self._deviation = found[: self._end_x], found[self._end_x : self._end_deviation]
            if pose and pose.started:
                pose.push(t, found[self._end_deviation :])

    def _start_joints(self, angle: Array, rate: Array) -> None:
        """Begin at the first measurement, the rate filters settled."""
        n, extra = self._n, (len(self._x) - 2 * self._n) // max(len(self._places), 1)
        self._x[self._places] = angle
        self._x[[n + i for i in self._places]] = rate
        self._x[2 * n :] = np.repeat(rate, extra)

    def _take_pose(self, pose: PoseFilter, t: float, exposed: float, measured: Array) -> None:
        if not _finite(measured.tolist()) or exposed > t:
            return  # the guard sees the sample too and names it
        if pose.started:
            mended = pose.correct(exposed, measured, self._x, self._deviation)
        else:
            mended = pose.start(t, exposed, measured, self._x, self._deviation)
        if mended is not None:
            self._x, self._deviation = mended


def _finite(measured: list[float]) -> bool:
    """A sum is finite only if all its parts are."""
    return math.isfinite(sum(measured))


def _joints(bed: Testbed) -> JointFilter | None:
    if bed.devices.joint_sensors is None:
        return None
    noise = bed.control.estimation.joint_rad_s2_per_rthz
    return joint_filter(bed.devices.joint_sensors, noise, bed.loop.period_s)


def _pose(bed: Testbed, n: int, n_x: int) -> PoseFilter | None:
    vision, process = bed.devices.vision, bed.control.estimation
    if vision is None:
        return None
    return PoseFilter(
        np.array([vision.position_noise_m, vision.position_noise_m, vision.heading_noise_rad]),
        np.array([process.translation_m_s2_per_rthz] * 2 + [process.rotation_rad_s2_per_rthz]),
        bed.loop.period_s,
        n,
        n_x,
    )


def _delivery(bed: Testbed) -> Delivery | None:
    if bed.devices.thrusters is None or bed.control.allocation is None:
        return None
    return build_delivery(bed.devices.thrusters, bed.control.allocation, bed.loop.period_s)


def _refuse_what_is_not_measured(bed: Testbed) -> None:
    robot, devices = bed.robot, bed.devices
    sensed = devices.joint_sensors.joints if devices.joint_sensors else ()
    # The joints of the robot come first among those of all modules.
    for name, joint in zip(bed.joints, robot.joints_in_tree_order(), strict=False):
        if name not in sensed:
            raise InputError(f"{bed.name}: devices.joint_sensors.joints lacks '{name}', expected every joint")
        if joint.kind != "revolute":
            raise InputError(f"{bed.name}: joint '{name}' is {joint.kind}, expected revolute: only those are measured")
    if robot.base == "floating" and robot.dimension != "planar":
        raise InputError(
            f"{bed.name}: the base floats in space, expected a planar one: vision measures x, y and heading"
        )
    if robot.base == "floating" and devices.vision is None:
        raise InputError(f"{bed.name}: devices.vision is missing, expected it where the base floats")
