"""Prediction over one period as one compiled function: the model's acceleration, then every coordinate.

    x = [q; u; states of the rate filters]

Coordinates without a sensor of their own are double integrators under the model's acceleration; a joint with a sensor
also gets its measurement update here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca
import numpy as np

from granite.config.devices.joint_sensors import JointSensors
from granite.controllers.estimation.joint_filter import JointFilter
from granite.controllers.estimation.pose_filter import PoseFilter
from granite.controllers.model import ControlModel

#: joint sensors with their filters
Joints = Mapping[str, tuple[JointSensors, JointFilter]]


def n_states(model: ControlModel, joints: Iterable[JointSensors]) -> int:
    """Size of x."""
    return 2 * model.n + sum(n_extra(sensors) * len(known_joints(model, sensors)) for sensors in joints)


def n_extra(sensors: JointSensors) -> int:
    """Number of states of a joint's filter beside angle and rate: those of the sensor's rate filter."""
    return 2 if sensors.has_rate_filter else 0


def known_joints(model: ControlModel, sensors: JointSensors) -> list[tuple[int, int]]:
    """Of each sensed joint that the model has: its index in the device, and its index in u."""
    layout = model.layout
    return [(j, layout.joint_u(name)) for j, name in enumerate(sensors.joints) if name in layout.joints]


def prediction(model: ControlModel, joints: Joints, poses: Mapping[str, PoseFilter]) -> ca.Function:
    """(x, torque of each motor, mean opening of each valve, frames of the joint sensors, numbers, covariances of the
    poses) -> (x a period later, deviation of each coordinate, motions).

    `numbers` are 1 for each joint sensor whose frame is new, else 0; then the age of each pose. Covariances are those
    of the pose filters. `motions` are pose, velocity and acceleration of each root with a pose, for their history.
    """
    update = _update(model, joints, poses)
    acceleration, n = model.acceleration, model.n
    # Without contacts everything is one expression; with them the contact set is a function of its own.
    symbol: Any = ca.SX if acceleration.is_a("SXFunction") else ca.MX
    x, _, measured, numbers, covariances = (symbol.sym(update.name_in(i), update.size1_in(i)) for i in range(5))
    torque, opening = symbol.sym("tau", len(model.driven)), symbol.sym("opening", len(model.bed.thrusters))
    a = acceleration(x[:n], x[n : 2 * n], torque, ca.DM(model.available) * opening)
    given = [x, torque, opening, measured, numbers, covariances]
    return ca.Function("prediction", given, update.call([x, a, measured, numbers, covariances]))


def _update(model: ControlModel, joints: Joints, poses: Mapping[str, PoseFilter]) -> ca.Function:
    """(x, acceleration, frames of the joint sensors, numbers, covariances) -> the results of `prediction`."""
    n, period = model.n, model.bed.loop.period_s
    x = ca.SX.sym("x", n_states(model, [sensors for sensors, _ in joints.values()]))
    a, measured = ca.SX.sym("a", n), ca.SX.sym("measured", sum(2 * len(s.joints) for s, _ in joints.values()))
    numbers, covariances = ca.SX.sym("numbers", len(joints) + len(poses)), ca.SX.sym("P", 9 * len(poses))

    after, deviation = ca.SX(x), ca.SX(np.full(n, np.nan))
    for i in range(n):
        after[i] = x[i] + period * (x[n + i] + period / 2 * a[i])
        after[n + i] = x[n + i] + period * a[i]
    first_value, first_extra = 0, 2 * n
    for k, (sensors, filters) in enumerate(joints.values()):
        count = len(sensors.joints)
        for j, i in known_joints(model, sensors):
            own = [i, n + i, *range(first_extra, first_extra + filters.n_extra)]
            predicted = ca.DM(filters.F) @ x[own] + ca.DM(filters.G) * a[i]
            values = ca.vertcat(measured[first_value + j], measured[first_value + count + j])
            innovation = values - ca.DM(filters.C) @ predicted
            usable = ca.logic_and(numbers[k], ca.sumsqr(values) < np.inf)
            after[own] = predicted + ca.if_else(usable, ca.DM(filters.K) @ innovation, np.zeros(len(own)))
            deviation[i] = filters.deviation
            first_extra += filters.n_extra
        first_value += 2 * count
    motions = ca.SX(0, 1)
    for k, pose in enumerate(poses.values()):
        at = pose.root
        motions = ca.vertcat(motions, after[at], after[n + at.start : n + at.stop], a[at])
        deviation[at] = pose.deviation_function(covariances[9 * k : 9 * k + 9], numbers[len(joints) + k])
    return ca.Function("update", [x, a, measured, numbers, covariances], [after, deviation, motions])
