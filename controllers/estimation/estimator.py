"""The estimate step: joint sensors and late vision poses, fused through the model into q and u."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from config.coordinates import velocities
from config.errors import InputError
from config.records import Array, Sample, State
from config.testbed import Testbed
from controllers.estimation.joint_filter import JointFilter
from controllers.estimation.pose_filter import PoseFilter
from controllers.places import places
from controllers.thrusters.delivery import Delivery
from mrds.compilation import compile_functions
from mrds.dynamics import WRENCH, Dynamics, force_on_root
from mrds.tree import Tree


class Estimator:
    """Predicts with the model under what the actuators applied, corrects with what the sensors measured."""

    def __init__(self, bed: Testbed) -> None:
        _refuse_what_is_not_measured(bed)
        self._period = bed.loop.period_s
        robot, devices, noise = bed.robot, bed.devices, bed.controller.estimation
        names = [v.name for v in velocities(robot)]
        self._joints: JointFilter | None = None
        self._sensed: slice | list[int] = slice(0)
        if devices.joint_sensors:
            self._joints = JointFilter(devices.joint_sensors, noise.joint_rad_s2_per_rthz, self._period)
            self._sensed = places([names.index(j) for j in devices.joint_sensors.joints])
        self._pose: PoseFilter | None = None
        if devices.vision:
            s = devices.vision
            self._pose = PoseFilter(
                np.array([s.position_noise_m, s.position_noise_m, s.heading_noise_rad]),
                np.array([noise.translation_m_s2_per_rthz] * 2 + [noise.rotation_rad_s2_per_rthz]),
                self._period,
            )
        self._acceleration = compile_functions("estimator", [_driven_acceleration(bed, Tree(robot))])["acceleration"]
        self._no_wrench = np.zeros(WRENCH[robot.dimension])
        self._delivery: Delivery | None = None
        if devices.thrusters and bed.controller.allocation:
            self._delivery = Delivery(devices.thrusters, bed.controller.allocation, robot.dimension)
        self._q, self._u, self._deviation = np.zeros(len(names)), np.zeros(len(names)), np.zeros(len(names))
        if self._joints:
            self._deviation[self._sensed] = self._joints.deviation
        self._t, self._joint_count, self._pose_count = math.nan, 0.0, 0.0
        self._joint_taken = math.nan

    def estimate(self, sample: Sample) -> State:
        """q and u at the time of the sample."""
        t = sample.t
        if not math.isnan(self._t):
            self._predict(t, sample)
        self._t = t
        self._take_joints(sample)
        self._take_pose(t, sample)
        ready = self._joint_count > 0 or self._joints is None
        if self._joints:
            self._q[self._sensed] = self._joints.x[:, 0]
            self._u[self._sensed] = self._joints.x[:, 1]
        pose_age = 0.0
        if self._pose:
            ready = ready and self._pose.started
            pose_age = t - self._pose.exposed
            if self._pose.started:
                self._q[:3], self._u[:3] = self._pose.pose, self._pose.velocity
                self._deviation[:3] = self._pose.deviation(t)
        joint_age = t - self._joint_taken if self._joints else 0.0
        return State(t, ready, self._q.copy(), self._u.copy(), self._deviation.copy(), pose_age, joint_age)

    def _predict(self, t: float, sample: Sample) -> None:
        acceleration = self._acceleration(self._q, self._u, sample.applied.torque, self._wrench(t, sample))[0]
        if self._joints:
            # A constant gain belongs to a constant period: a skipped tick is two of them.
            for _ in range(max(round((t - self._t) / self._period), 1)):
                self._joints.predict(acceleration[self._sensed])
        if self._pose and self._pose.started:
            self._pose.predict(t, acceleration[:3])

    def _wrench(self, t: float, sample: Sample) -> Array:
        """What the thrusters did to the root body since the last tick, in its own axes."""
        if self._delivery is None:
            return self._no_wrench
        self._delivery.command(sample.applied.t, sample.applied.opening)
        return self._delivery.wrench(self._delivery.thrust(self._t, t))

    def _take_joints(self, sample: Sample) -> None:
        if self._joints is None or sample.joint_count <= self._joint_count:
            return
        if not math.isfinite(sample.joint_angle.dot(sample.joint_rate)):
            return  # the guard sees the sample too and names it
        if self._joint_count == 0:
            self._joints.start(sample.joint_angle, sample.joint_rate)
        else:
            self._joints.correct(sample.joint_angle, sample.joint_rate)
        self._joint_count, self._joint_taken = sample.joint_count, sample.joint_taken

    def _take_pose(self, t: float, sample: Sample) -> None:
        if self._pose is None or sample.pose_count <= self._pose_count:
            return
        self._pose_count = sample.pose_count
        if math.isfinite(sample.pose.dot(sample.pose)) and sample.pose_taken <= t:
            self._pose.correct(t, sample.pose_taken, sample.pose)


def _driven_acceleration(bed: Testbed, tree: Tree) -> ca.Function:
    """(q, u, torque of each motor, wrench on the root) -> u'."""
    names = [v.name for v in tree.velocities]
    torque, wrench = ca.SX.sym("tau", len(bed.devices.motors)), ca.SX.sym("w", WRENCH[bed.robot.dimension])
    force = force_on_root(tree, wrench)
    for i, motor in enumerate(bed.devices.motors):
        force[names.index(motor.joint)] += torque[i]
    return ca.Function("acceleration", [tree.q, tree.u, torque, wrench], [Dynamics(tree).forward(force)])


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
