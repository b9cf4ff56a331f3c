"""The estimate step: joint sensors and late vision poses, fused through the model into q and u."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from config.coordinates import velocities
from config.errors import InputError
from config.records import Sample, State
from config.testbed import Testbed
from controllers.estimation.joint_filter import JointFilter, joint_filter
from controllers.estimation.pose_filter import PoseFilter
from controllers.estimation.prediction import prediction
from controllers.thrusters.delivery import Delivery
from mrds.compilation import compile_functions
from mrds.kernel import slot


class Estimator:
    """Predicts with the model under what the actuators applied, corrects with what the sensors measured."""

    def __init__(self, bed: Testbed) -> None:
        _refuse_what_is_not_measured(bed)
        self._period = bed.loop.period_s
        joints, self._pose, self._delivery = _joints(bed), _pose(bed), _delivery(bed)
        names = [v.name for v in velocities(bed.robot)]
        self._n = n = len(names)
        self._kernel = compile_functions("estimator", [prediction(bed, joints)])["prediction"]
        self._x, self._p = self._kernel.inputs
        self._after, self._motion = self._kernel.outputs
        sensed = bed.devices.joint_sensors.joints if bed.devices.joint_sensors else ()
        self._places = [names.index(j) for j in sensed]
        # Where the parts of p begin; memory views are the quickest way to fill an array.
        n_m, n_s = len(bed.devices.motors), len(sensed)
        n_t = len(bed.devices.thrusters.units) if bed.devices.thrusters else 0
        cuts = np.cumsum([0, n_m, n_t, n_s, n_s]).tolist()
        self._parts = [slice(a, b) for a, b in pairwise(cuts)]
        self._view_x, self._view_p = slot(self._x), slot(self._p)
        self._joint_deviations = [joints.deviation if joints else 0.0] * len(bed.robot.joints)
        self._base_deviations = [0.0] * (n - len(bed.robot.joints))
        self._t, self._joint_taken = math.nan, math.nan
        self._joint_count, self._pose_count = 0.0, 0.0

    def estimate(self, sample: Sample) -> State:
        """q and u at the time of the sample."""
        t, first = sample.t, math.isnan(self._t)
        fresh = sample.joint_count > self._joint_count and math.isfinite(sample.joint_angle.dot(sample.joint_rate))
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
            if self._pose.started:
                self._base_deviations = self._pose.deviation(t)
        n, joint_age = self._n, t - self._joint_taken if self._places else 0.0
        deviation = np.array(self._base_deviations + self._joint_deviations)
        return State(t, ready, self._x[:n].copy(), self._x[n : 2 * n].copy(), deviation, pose_age, joint_age)

    def _predict(self, sample: Sample, fresh: bool) -> None:
        """Carry the estimate to the time of the sample, one period after the other: a skipped tick is two of them."""
        view, (torque, opening, angle, rate) = self._view_p, self._parts
        view[torque], view[angle], view[rate] = sample.applied.torque, sample.joint_angle, sample.joint_rate
        if self._delivery:
            self._delivery.command(sample.applied.t, sample.applied.opening)
        periods = max(round((sample.t - self._t) / self._period), 1)
        for k in range(1, periods + 1):
            t = self._t + k * self._period if k < periods else sample.t
            if self._delivery:
                view[opening] = self._delivery.mean_opening(t - self._period, t)
            view[-1] = 1.0 if fresh and k == periods else 0.0
            self._kernel.evaluate()
            self._view_x[:] = self._after
            if self._pose and self._pose.started:
                self._pose.push(t, self._motion)

    def _start_joints(self, sample: Sample) -> None:
        """Begin at the first measurement, the rate filters settled."""
        n, extra = self._n, (len(self._x) - 2 * self._n) // max(len(self._places), 1)
        self._x[self._places] = sample.joint_angle
        self._x[[n + i for i in self._places]] = sample.joint_rate
        self._x[2 * n :] = np.repeat(sample.joint_rate, extra)

    def _take_pose(self, pose: PoseFilter, sample: Sample) -> None:
        self._pose_count = sample.pose_count
        if not math.isfinite(sample.pose.dot(sample.pose)) or sample.pose_taken > sample.t:
            return  # the guard sees the sample too and names it
        if pose.started:
            motion = pose.correct(sample.pose_taken, sample.pose)
        else:
            motion = pose.start(sample.t, sample.pose_taken, sample.pose)
        if motion is not None:
            self._x[:3], self._x[self._n : self._n + 3] = motion[:3], motion[3:6]


def _joints(bed: Testbed) -> JointFilter | None:
    if bed.devices.joint_sensors is None:
        return None
    noise = bed.controller.estimation.joint_rad_s2_per_rthz
    return joint_filter(bed.devices.joint_sensors, noise, bed.loop.period_s)


def _pose(bed: Testbed) -> PoseFilter | None:
    vision, process = bed.devices.vision, bed.controller.estimation
    if vision is None:
        return None
    return PoseFilter(
        np.array([vision.position_noise_m, vision.position_noise_m, vision.heading_noise_rad]),
        np.array([process.translation_m_s2_per_rthz] * 2 + [process.rotation_rad_s2_per_rthz]),
        bed.loop.period_s,
    )


def _delivery(bed: Testbed) -> Delivery | None:
    if bed.devices.thrusters is None or bed.controller.allocation is None:
        return None
    return Delivery(bed.devices.thrusters, bed.controller.allocation, bed.loop.period_s)


def _refuse_what_is_not_measured(bed: Testbed) -> None:
    robot, devices = bed.robot, bed.devices
    sensed = devices.joint_sensors.joints if devices.joint_sensors else ()
    for joint in robot.joints:
        if joint.name not in sensed:
            raise InputError(f"{bed.name}: devices.joint_sensors.joints lacks '{joint.name}', expected every joint")
        if joint.kind != "revolute":
            raise InputError(
                f"{bed.name}: joint '{joint.name}' is {joint.kind}, expected revolute: only those are measured"
            )
    if robot.base == "floating" and robot.dimension != "planar":
        raise InputError(
            f"{bed.name}: the base floats in space, expected a planar one: vision measures x, y and heading"
        )
    if robot.base == "floating" and devices.vision is None:
        raise InputError(f"{bed.name}: devices.vision is missing, expected it where the base floats")
