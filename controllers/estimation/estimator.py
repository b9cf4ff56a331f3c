"""The estimate step: joint sensors and late vision poses, fused through the model into q and u."""

from __future__ import annotations

import math
from struct import Struct

import numpy as np

from config.errors import InputError
from config.records import Sample, State
from config.testbed import Testbed
from controllers.estimation.joint_filter import JointFilter, joint_filter
from controllers.estimation.pose_filter import PoseFilter
from controllers.estimation.prediction import n_states, prediction
from controllers.thrusters.delivery import Delivery, build_delivery
from mrds.compilation import compile_functions

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
        self._t, self._joint_taken = math.nan, math.nan
        self._joint_count, self._pose_count = 0.0, 0.0

    def estimate(self, sample: Sample) -> State:
        """q and u at the time of the sample."""
        t, first = sample.t, math.isnan(self._t)
        fresh = sample.joint_count > self._joint_count and _finite(
            sample.joint_angle.tolist() + sample.joint_rate.tolist()
        )
        if not first:
            self._predict(sample, fresh and self._joint_count > 0)
        self._t = t
        if fresh:
            if self._joint_count == 0:
                self._start_joints(sample)
            self._joint_count, self._joint_taken = sample.joint_count, sample.joint_taken
        pose_age, ready = 0.0, self._joint_count > 0 or not self._places
        if self._pose:
            if sample.pose_count > self._pose_count:
                self._take_pose(self._pose, sample)
            ready = ready and self._pose.started
            pose_age = t - self._pose.exposed
        n, x, joint_age = self._n, self._x, t - self._joint_taken if self._places else 0.0
        return State(t, ready, x[:n], x[n : 2 * n], self._deviation, pose_age, joint_age)

    def _predict(self, sample: Sample, fresh: bool) -> None:
        """Carry the estimate to the time of the sample, one period after the other: a skipped tick is two of them."""
        told, torque, opening, _ = sample.applied
        pose = self._pose if self._pose and self._pose.started else None
        if self._delivery:
            self._delivery.command(told, opening)
        periods = max(round((sample.t - self._t) / self._period), 1)
        for k in range(1, periods + 1):
            t = self._t + k * self._period if k < periods else sample.t
            if self._delivery:
                opening = self._delivery.mean_opening(t - self._period, t)
            numbers = _NUMBERS(fresh and k == periods, t - pose.exposed if pose else 0.0)
            covariance = self._pose.covariance if self._pose else _NOTHING
            given = (self._x, torque, opening, sample.joint_angle, sample.joint_rate, numbers, covariance)
            found = self._run(given)
            self._x, self._deviation = found[: self._end_x], found[self._end_x : self._end_deviation]
            if pose:
                pose.push(t, found[self._end_deviation :])

    def _start_joints(self, sample: Sample) -> None:
        """Begin at the first measurement, the rate filters settled."""
        n, extra = self._n, (len(self._x) - 2 * self._n) // max(len(self._places), 1)
        self._x[self._places] = sample.joint_angle
        self._x[[n + i for i in self._places]] = sample.joint_rate
        self._x[2 * n :] = np.repeat(sample.joint_rate, extra)

    def _take_pose(self, pose: PoseFilter, sample: Sample) -> None:
        self._pose_count = sample.pose_count
        if not _finite(sample.pose.tolist()) or sample.pose_taken > sample.t:
            return  # the guard sees the sample too and names it
        if pose.started:
            mended = pose.correct(sample.pose_taken, sample.pose, self._x, self._deviation)
        else:
            mended = pose.start(sample.t, sample.pose_taken, sample.pose, self._x, self._deviation)
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
