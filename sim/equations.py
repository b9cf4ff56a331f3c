"""The equations of the plant: what a physics step does to the modules, the tank and the analogue rate filters."""

from __future__ import annotations

import math
from typing import Generic, NamedTuple, TypeVar

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.sim.forces import n_thrusters
from granite.sim.motion import PlantMotion
from granite.sim.rate_filter import RateFilter

Part = TypeVar("Part")


class PlantState(NamedTuple, Generic[Part]):
    """The state of the plant, part by part: arrays when it runs, symbols when its equations are written."""

    q: Part  #: coordinates of all modules (n_q)
    u: Part  #: their velocities (n_u)
    extra: Part  #: what else moves with them: time and work, where they are asked for
    left: Part  #: impulse in the tank (1) [N s]; NaN: no tank
    used: Part  #: impulse delivered so far (1) [N s]
    pushed: Part  #: sum of the thrusts over the steps, for their mean (n_t) [N]
    lag: Part  #: of the first stage of the rate filters (n_s) [rad]
    joints: Part  #: the sensed joints: angles [rad], then rates behind their filters [rad/s] (2 n_s)


def initial_state(bed: Testbed, q: Array, u: Array, n_extra: int) -> PlantState[Array]:
    """A full tank, and filters without a transient."""
    angles, rates = _sensed(bed)
    rate_filter = _rate_filter(bed)
    lag = rate_filter.steady_lag(u[rates]) if rate_filter else np.zeros(len(rates))
    tank = np.array([_tank(bed) or math.nan])
    joints = np.concatenate([q[angles], u[rates]])
    return PlantState(q, u, np.zeros(n_extra), tank, np.zeros(1), np.zeros(n_thrusters(bed)), lag, joints)


def stride_function(step: ca.Function, motion: PlantMotion, steps: int) -> ca.Function:
    """(state, thrust, torque) -> state after so many steps, path, the least independence on the way, and the size.

    Thrust is that of a full tank, one column for each step. Path is [q; u] at the end of each step, one column each;
    size is the sum of squares of the last one, which is finite if all of them are.
    """
    n_x = motion.n_q + motion.n_u
    state, torque = ca.MX.sym("state", step.size1_in(0)), ca.MX.sym("torque", step.size1_in(2))
    thrust = ca.MX.sym("thrust", step.size1_in(1), steps)
    after, path, independence = state, [], ca.MX(1)
    for k in range(steps):
        after, least = step(after, thrust[:, k], torque)
        path.append(after[:n_x])
        independence = ca.fmin(independence, least)
    names = ["state", "thrust", "torque"], ["after", "path", "independence", "size"]
    outputs = [after, ca.horzcat(*path), independence, ca.sumsqr(path[-1])]
    return ca.Function(f"plant_{steps}", [state, thrust, torque], outputs, *names)


def force_function(bed: Testbed, motion: PlantMotion) -> ca.Function:
    """(state, thrust, torque) -> generalised force of the lab on all modules, its share of the rate of extra."""
    before, (state, full, torque) = _symbols(bed, motion)
    thrust, _ = _droop(bed, full, before.left)
    outputs = motion.force.call([before.q, before.u, ca.vertcat(thrust, torque)])
    return ca.Function("plant_force", [state, full, torque], outputs)


def lab_function(bed: Testbed, motion: PlantMotion) -> ca.Function:
    """(state, thrust, [q; u; extra] one step later) -> state one step later: tank and filters follow the motion."""
    before, (state, full, _) = _symbols(bed, motion)
    thrust, given = _droop(bed, full, before.left)
    x = ca.MX.sym("x", motion.n_q + motion.n_u + motion.n_extra)
    q, u, extra = motion.parts(x)

    angles, rates = _sensed(bed)
    lag, angle, rate = before.lag, _picked(q, angles), _picked(u, rates)
    rate_filter = _rate_filter(bed)
    if rate_filter:
        angle_before, rate_before = ca.vertsplit(before.joints, len(angles))
        lag, rate = rate_filter.step(lag, rate_before, angle - angle_before)

    joints = ca.vertcat(angle, rate)
    after = PlantState(q, u, extra, before.left - given, before.used + given, before.pushed + thrust, lag, joints)
    return ca.Function("plant_lab", [state, full, x], [ca.vertcat(*after)])


def step_function(bed: Testbed, motion: PlantMotion) -> ca.Function:
    """(state, thrust of each thruster with a full tank, torque of each motor) -> state one step later, independence."""
    before, (state, full, torque) = _symbols(bed, motion)
    thrust, _ = _droop(bed, full, before.left)
    x = ca.vertcat(before.q, before.u, before.extra)
    x, independence = motion.step(x, ca.vertcat(thrust, torque), bed.simulation.physics_step_s)
    after = lab_function(bed, motion)(state, full, x)
    return ca.Function("plant_step", [state, full, torque], [after, independence])


def _symbols(bed: Testbed, motion: PlantMotion) -> tuple[PlantState[ca.MX], tuple[ca.MX, ca.MX, ca.MX]]:
    """The state part by part; the whole of it, thrust of each thruster with a full tank, torque of each motor."""
    start = initial_state(bed, np.zeros(motion.n_q), np.zeros(motion.n_u), motion.n_extra)
    ends = np.cumsum([0, *(len(part) for part in start)]).tolist()
    state, torque = ca.MX.sym("state", ends[-1]), ca.MX.sym("torque", len(bed.devices.motors))
    full = ca.MX.sym("thrust", n_thrusters(bed))
    return PlantState(*ca.vertsplit(state, ends)), (state, full, torque)


def _droop(bed: Testbed, full: ca.MX, left: ca.MX) -> tuple[ca.MX, ca.MX]:
    """Mean thrust over a step (n_t) [N] and the impulse it takes from the tank [N s], from the full tank's thrust."""
    impulse, tank = bed.simulation.physics_step_s * ca.sum1(full), _tank(bed)
    if tank is None:
        return full, impulse
    # Thrust is that of a full tank times left/tank, so what is left decays exponentially over the step.
    given = -left * ca.expm1(-impulse / tank)
    return full * (given / ca.fmax(impulse, np.finfo(float).tiny)), given


def _tank(bed: Testbed) -> float | None:
    """Impulse in the full tank [N s]; None: constant pressure."""
    faults = bed.simulation.thrusters
    return None if faults.ideal or bed.devices.thrusters is None else faults.tank_n_s


def _sensed(bed: Testbed) -> tuple[list[int], list[int]]:
    """Where the sensed joints stand in q, and where in u."""
    joints = bed.devices.joint_sensors.joints if bed.devices.joint_sensors else ()
    angles, rates = ([c.name for c in found] for found in (bed.positions, bed.velocities))
    return [angles.index(j) for j in joints], [rates.index(j) for j in joints]


def _picked(x: ca.MX, at: list[int]) -> ca.MX:
    """Some entries as a column, also none of a single one: `x[[]]` would be a row then."""
    return x[at] if at else ca.MX(0, 1)


def _rate_filter(bed: Testbed) -> RateFilter | None:
    sensors = bed.devices.joint_sensors
    if sensors is None or not (sensors.filter_a_rad_s > 0 and sensors.filter_b_rad_s > 0):
        return None
    return RateFilter(sensors.filter_a_rad_s, sensors.filter_b_rad_s, bed.simulation.physics_step_s)
