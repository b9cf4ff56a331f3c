"""One period of the estimate as one compiled function: the model's acceleration, then every coordinate a period on.

    x = [q; u; states of the rate filters]

The base coordinates are double integrators under the model's acceleration; a joint also takes in its measurement.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.testbed import Testbed
from granite.controllers.estimation.joint_filter import JointFilter
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.mrds.dynamics import Dynamics, force_on_root
from granite.mrds.tree import Tree


def n_states(bed: Testbed, joints: JointFilter | None) -> int:
    """How many numbers x has."""
    sensed = bed.devices.joint_sensors.joints if bed.devices.joint_sensors else ()
    return 2 * len(bed.estimated_velocities) + (len(joints.F) - 2 if joints else 0) * len(sensed)


def prediction(bed: Testbed, joints: JointFilter | None, pose_deviation: ca.Function | None) -> ca.Function:
    """(x, torque of each motor, mean opening of each valve, angles, rates, [1 if these are new, else 0; age of the
    pose], covariance of the pose) -> (x a period later, deviation of each coordinate, motion).

    Age and covariance are what `pose_deviation` takes. `motion` is pose, velocity and acceleration of the base, as the
    pose filter keeps them.
    """
    tree, devices, period = Tree(bed.robot), bed.devices, bed.loop.period_s
    names = [v.name for v in bed.estimated_velocities]
    sensed = devices.joint_sensors.joints if devices.joint_sensors else ()
    n, n_extra = len(names), len(joints.F) - 2 if joints else 0
    x = ca.SX.sym("x", n_states(bed, joints))
    torque, angle, rate = (
        ca.SX.sym(s, k) for s, k in (("tau", len(devices.motors)), ("angle", len(sensed)), ("rate", len(sensed)))
    )
    opening = ca.SX.sym("opening", len(devices.thrusters.units) if devices.thrusters else 0)
    new, age = ca.SX.sym("new"), ca.SX.sym("age")

    force = ca.SX.zeros(n)
    if devices.thrusters:
        push = thruster_matrix(devices.thrusters, bed.robot.dimension) * available_thrust(devices.thrusters)
        force += force_on_root(tree, ca.DM(push) @ opening)
    for i, motor in enumerate(devices.motors):
        force[names.index(motor.joint)] += torque[i]
    acceleration = Dynamics(tree).forward(force)
    a = ca.substitute(acceleration, ca.vertcat(tree.q, tree.u), x[: 2 * n])

    after = ca.SX(x)
    for i in range(n):
        after[i] = x[i] + period * (x[n + i] + period / 2 * a[i])
        after[n + i] = x[n + i] + period * a[i]
    for j, name in enumerate(sensed):
        i = names.index(name)
        own = [i, n + i, *range(2 * n + n_extra * j, 2 * n + n_extra * (j + 1))]
        assert joints is not None
        predicted = ca.DM(joints.F) @ x[own] + ca.DM(joints.G) * a[i]
        innovation = ca.vertcat(angle[j], rate[j]) - ca.DM(joints.C) @ predicted
        after[own] = predicted + ca.if_else(new, ca.DM(joints.K) @ innovation, np.zeros(len(own)))
    motion = ca.vertcat(after[:3], after[n : n + 3], a[:3]) if bed.robot.base == "floating" else ca.SX(0, 1)
    covariance = ca.SX.sym("P", pose_deviation.size1_in(0) if pose_deviation else 0)
    of_base = pose_deviation(covariance, age) if pose_deviation else ca.SX(0, 1)
    deviation = ca.vertcat(of_base, [joints.deviation if joints else 0.0] * (n - of_base.numel()))
    given = [x, torque, opening, angle, rate, ca.vertcat(new, age), covariance]
    return ca.Function("prediction", given, [after, deviation, motion])
