"""The equations of the plant: what a physics step does to the robot, the tank and the analogue rate filters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

import casadi as ca
import numpy as np

from config import coordinates
from config.base import spatial
from config.records import Array
from config.testbed import Testbed
from mrds.dynamics import Dynamics
from mrds.integrators import rk4_step
from mrds.symbols import vector
from mrds.tree import Tree
from sim.rate_filter import RateFilter

GRAVITY = 9.81  #: [m/s^2]

Part = TypeVar("Part")


class State(NamedTuple, Generic[Part]):
    """The state of the plant, part by part: arrays when it runs, symbols when its equations are written."""

    q: Part  #: coordinates (n_q)
    u: Part  #: velocities (n_u)
    left: Part  #: impulse in the tank (1) [N s]; NaN: no tank
    used: Part  #: impulse delivered so far (1) [N s]
    pushed: Part  #: sum of the thrusts over the steps, for their mean (n_t) [N]
    lag: Part  #: of the first stage of the rate filters (n_s) [rad]
    joints: Part  #: the sensed joints: angles [rad], then rates behind their filters [rad/s] (2 n_s)


def initial_state(bed: Testbed) -> State[Array]:
    """What `simulation.initial` says, zero elsewhere, and no rotation; a full tank; filters without a transient."""
    positions, velocities = coordinates.positions(bed.robot), coordinates.velocities(bed.robot)
    q, u = (np.array([bed.simulation.initial.get(c.key, 0.0) for c in found]) for found in (positions, velocities))
    quaternion = [i for i, c in enumerate(positions) if c.unit == "1"]
    if quaternion:
        if not q[quaternion].any():
            q[quaternion[0]] = 1.0
        q[quaternion] /= np.linalg.norm(q[quaternion])
    angles, rates = _sensed(bed)
    rate_filter = _rate_filter(bed)
    lag = rate_filter.steady_lag(u[rates]) if rate_filter else np.zeros(len(rates))
    tank = np.array([_tank(bed) or math.nan])
    joints = np.concatenate([q[angles], u[rates]])
    return State(q, u, tank, np.zeros(1), np.zeros(_n_thrusters(bed)), lag, joints)


def stride_functions(bed: Testbed, lengths: Iterable[int]) -> list[ca.Function]:
    """One function for each number of steps, `plant_1` and so on: (state, thrust, torque) -> (state after them, path).

    Thrust is that of a full tank, one column for each step. Path is [q; u] at the end of each step, one column each.
    """
    step, n_x = step_function(bed), sum(len(part) for part in initial_state(bed)[:2])
    return [_stride_function(step, n_x, steps) for steps in lengths]


def _stride_function(step: ca.Function, n_x: int, steps: int) -> ca.Function:
    state, torque = ca.MX.sym("state", step.size1_in(0)), ca.MX.sym("torque", step.size1_in(2))
    thrust = ca.MX.sym("thrust", step.size1_in(1), steps)
    after, path = state, []
    for k in range(steps):
        after = step(after, thrust[:, k], torque)
        path.append(after[:n_x])
    names = ["state", "thrust", "torque"], ["after", "path"]
    return ca.Function(f"plant_{steps}", [state, thrust, torque], [after, ca.horzcat(*path)], *names)


def step_function(bed: Testbed) -> ca.Function:
    """(state, thrust of each thruster with a full tank, torque of each motor) -> state one physics step later."""
    h = bed.simulation.physics_step_s
    sizes = [len(part) for part in initial_state(bed)]
    state, torque = ca.MX.sym("state", sum(sizes)), ca.MX.sym("torque", len(bed.devices.motors))
    full = ca.MX.sym("thrust", _n_thrusters(bed))
    before: State[ca.MX] = State(*ca.vertsplit(state, [0, *np.cumsum(sizes).tolist()]))

    thrust, given = _droop(bed, full, before.left)
    x = robot_step(bed)(ca.vertcat(before.q, before.u), ca.vertcat(thrust, torque), h)
    q, u = ca.vertsplit(x, [0, sizes[0], sizes[0] + sizes[1]])

    angles, rates = _sensed(bed)
    lag, angle, rate = before.lag, q[angles], u[rates]
    rate_filter = _rate_filter(bed)
    if rate_filter:
        angle_before, rate_before = ca.vertsplit(before.joints, len(angles))
        lag, rate = rate_filter.step(lag, rate_before, angle - angle_before)

    joints = ca.vertcat(angle, rate)
    after = State(q, u, before.left - given, before.used + given, before.pushed + thrust, lag, joints)
    return ca.Function("plant_step", [state, full, torque], [ca.vertcat(*after)])


def robot_step(bed: Testbed) -> ca.Function:
    """(x, p, h) -> x after h, with x = [q; u] and p = [thrust of each thruster; torque of each motor]."""
    tree = Tree(bed.robot)
    n_t = _n_thrusters(bed)
    p = ca.SX.sym("p", n_t + len(bed.devices.motors))
    force = _thrust(bed, tree, p[:n_t]) + _torque(bed, tree, p[n_t:])
    if not bed.simulation.table.ideal:
        force += _table(bed, tree)
    x = ca.vertcat(tree.q, tree.u)
    x_dot = ca.vertcat(tree.q_dot, Dynamics(tree).forward(force))
    return rk4_step(
        "robot_step",
        ca.Function("robot_rhs", [x, p], [x_dot]),
        ca.Function("robot_projection", [x], [ca.vertcat(tree.projected(), tree.u)]),
    )


def _droop(bed: Testbed, full: ca.MX, left: ca.MX) -> tuple[ca.MX, ca.MX]:
    """Mean thrust over a step (n_t) [N] and the impulse it takes from the tank [N s], from the full tank's thrust."""
    impulse, tank = bed.simulation.physics_step_s * ca.sum1(full), _tank(bed)
    if tank is None:
        return full, impulse
    # Thrust is that of a full tank times left/tank, so what is left decays exponentially over the step.
    given = -left * ca.expm1(-impulse / tank)
    return full * (given / ca.fmax(impulse, np.finfo(float).tiny)), given


def _thrust(bed: Testbed, tree: Tree, thrust: ca.SX) -> ca.SX:
    root = tree.bodies[0]
    total = ca.SX.zeros(tree.u.numel())
    units = bed.devices.thrusters.units if bed.devices.thrusters else ()
    for i, unit in enumerate(units):
        direction = vector(spatial(unit.direction)) / math.hypot(*unit.direction)
        force = thrust[i] * (root.R_WB @ direction)
        total += _generalised(tree, tree.point_velocity(root.name, unit.position_m), force)
    return total


def _torque(bed: Testbed, tree: Tree, torque: ca.SX) -> ca.SX:
    names = [c.name for c in coordinates.velocities(bed.robot)]
    total = ca.SX.zeros(tree.u.numel())
    for i, motor in enumerate(bed.devices.motors):
        total[names.index(motor.joint)] += torque[i]
    return total


def _table(bed: Testbed, tree: Tree) -> ca.SX:
    """Slope and air-pad drag at each mass centre (Stanford report, chapter 1; the laws of drag are ours)."""
    table = bed.simulation.table
    downhill = vector([math.cos(table.tilt_direction_rad), math.sin(table.tilt_direction_rad), 0.0])
    total = ca.SX.zeros(tree.u.numel())
    for body in tree.bodies:
        weight = body.mass * GRAVITY
        force = weight * table.tilt_g * downhill
        if table.drag_ratio > 0:
            v, v0 = body.v_WC, table.drag_speed_m_s
            # Coulomb's law, made smooth where the velocity changes sign: v/|v| becomes v/sqrt(v^2 + v0^2).
            speed = ca.sqrt(ca.dot(v, v) + v0**2) if table.drag == "coulomb" else v0
            force -= table.drag_ratio * weight * v / speed
        total += _generalised(tree, body.v_WC, force)
    return total


def _generalised(tree: Tree, velocity: ca.SX, force: ca.SX) -> ca.SX:
    """Generalised force of a force on a point moving at `velocity`: (dv/du)^T f (virtual power)."""
    return ca.jtimes(velocity, tree.u, force, True)


def _n_thrusters(bed: Testbed) -> int:
    return len(bed.devices.thrusters.units) if bed.devices.thrusters else 0


def _tank(bed: Testbed) -> float | None:
    """Impulse in the full tank [N s]; None: constant pressure."""
    faults = bed.simulation.thrusters
    return None if faults.ideal or bed.devices.thrusters is None else faults.tank_n_s


def _sensed(bed: Testbed) -> tuple[list[int], list[int]]:
    """Where the sensed joints stand in q, and where in u."""
    joints = bed.devices.joint_sensors.joints if bed.devices.joint_sensors else ()
    angles = [c.name for c in coordinates.positions(bed.robot)]
    rates = [c.name for c in coordinates.velocities(bed.robot)]
    return [angles.index(j) for j in joints], [rates.index(j) for j in joints]


def _rate_filter(bed: Testbed) -> RateFilter | None:
    sensors = bed.devices.joint_sensors
    if sensors is None or not (sensors.filter_a_rad_s > 0 and sensors.filter_b_rad_s > 0):
        return None
    return RateFilter(sensors.filter_a_rad_s, sensors.filter_b_rad_s, bed.simulation.physics_step_s)
