"""The equations of the plant: one physics step of the modules, the tank and the analogue rate filters."""

from __future__ import annotations

import math
from typing import Generic, NamedTuple, TypeVar

import casadi as ca
import numpy as np

from granite.config.devices.joint_sensors import JointDevice
from granite.config.devices.thrusters import Thrusters
from granite.config.footprints import plant_pairs
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.contacts.contact_set import NO_FEEDBACK, ContactSet
from granite.sim.plant.draws import by_name, drawn
from granite.sim.plant.forces import n_held, n_thrusters
from granite.sim.plant.gas import delivered, full_tank, n_pulses
from granite.sim.plant.motion import EliminationMotion, PlantMotion, initial_extra
from granite.sim.plant.rate_filter import RateFilter
from granite.sim.plant.soft_grips import grip_forces

Part = TypeVar("Part")


class PlantState(NamedTuple, Generic[Part]):
    """The state of the plant, part by part: arrays when it runs, symbols when its equations are written."""

    q: Part  #: coordinates of all modules (n_q)
    u: Part  #: their velocities (n_u)
    extra: Part  #: also integrated, where needed: time, inner states of the lab, and work
    left: Part  #: impulse in the tank of each device of thrusters [N s]; NaN: no tank
    used: Part  #: impulse delivered so far (1) [N s]
    pushed: Part  #: sum of the thrusts over the steps, for their mean (n_t) [N]
    lag: Part  #: of the first stage of the rate filters (n_s) [rad]
    joints: Part  #: the sensed joints: angles [rad], then rates behind their filters [rad/s] (2 n_s)
    drawn: Part  #: constants that the seed drew
    struck: Part  #: of each pair that can collide: impulse so far [N s], speed at the last touch [m/s], touching (3 n)
    pulses: Part  #: of each thruster: whether it is open, and how often it opened (2 n_t), where pulses scatter


def initial_state(bed: Testbed, q: Array, u: Array) -> PlantState[Array]:
    """A full tank, and filters without a transient."""
    angles, rates = _sensed(bed)
    filters = zip(_rate_filters(bed), u[rates], strict=True)
    lag = np.array([rate_filter.steady_lag(rate) if rate_filter else 0.0 for rate_filter, rate in filters])
    tank = np.array([full_tank(device) or math.nan for device in bed.devices_of(Thrusters).values()])
    joints = np.concatenate([q[angles], u[rates]])
    pushed, constants = np.zeros(n_thrusters(bed)), drawn(bed, bed.seed)
    pulses = np.zeros(n_pulses(bed))
    struck = np.zeros(3 * len(plant_pairs(bed)))
    extra = initial_extra(bed, q, u)
    return PlantState(q, u, extra, tank, np.zeros(1), pushed, lag, joints, constants, struck, pulses)


def stride_function(step: ca.Function, motion: PlantMotion, steps: int) -> ca.Function:
    """(state, thrust, torque) -> state after `steps` steps, path, the least independence of all steps, and the size.

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
    thrust, *_ = _delivered(bed, full, before)
    outputs = motion.force.call([before.q, before.u, before.extra, ca.vertcat(thrust, torque, before.drawn)])
    return ca.Function("plant_force", [state, full, torque], outputs)


def lab_function(bed: Testbed, motion: PlantMotion) -> ca.Function:
    """(state, thrust, [q; u; extra] one step later) -> state one step later: tank and filters follow the motion."""
    before, (state, full, _) = _symbols(bed, motion)
    thrust, given, pulses = _delivered(bed, full, before)
    x = ca.MX.sym("x", motion.n_q + motion.n_u + motion.n_extra)
    q, u, extra = motion.parts(x)

    angles, rates = _sensed(bed)
    angle, n = _picked(q, angles), len(angles)
    lags, filtered = ca.vertsplit(before.lag) if n else [], ca.vertsplit(_picked(u, rates)) if n else []
    for i, rate_filter in enumerate(_rate_filters(bed)):
        if rate_filter:
            turn = angle[i] - before.joints[i]
            lags[i], filtered[i] = rate_filter.step(lags[i], before.joints[n + i], turn)
    lag, rate = ca.vertcat(ca.MX(0, 1), *lags), ca.vertcat(ca.MX(0, 1), *filtered)

    joints = ca.vertcat(angle, rate)
    used, pushed = before.used + ca.sum1(given), before.pushed + thrust
    struck = _struck(bed, motion, q, u, before.struck)
    after = PlantState(q, u, extra, before.left - given, used, pushed, lag, joints, before.drawn, struck, pulses)
    return ca.Function("plant_lab", [state, full, x], [ca.vertcat(*after)])


def _struck(bed: Testbed, motion: PlantMotion, q: ca.MX, u: ca.MX, before: ca.MX) -> ca.MX:
    """Impulse, speed at the last touch, and whether each pair touches, at the end of a step."""
    if motion.collisions is None:
        return before
    impulse, speed, touched = ca.vertsplit(before, before.numel() // 3)
    _, normal, closing, _ = motion.collisions.call([q, u])
    touches = normal > 0
    begins = ca.logic_and(touches, ca.logic_not(touched))
    impulse += bed.simulation.physics_step_s * normal
    return ca.vertcat(impulse, ca.if_else(begins, closing, speed), touches)


def loads_function(bed: Testbed, motion: PlantMotion, contacts: ContactSet) -> ca.Function:
    """(state, thrust, torque) -> loads of the closed contacts by elimination.

    These are the wrench of each contact; the norm of the internal force of each module between contacts; and the
    largest gap, the largest slip and the independence of the constraints; grips that are springs have none of these.
    """
    before, (state, full, torque) = _symbols(bed, motion)
    (q, u, extra, *_), assembly = before, contacts.assembly
    if motion.compliance is not None:
        held, free = grip_forces(motion.compliance, contacts, q, u)
        outputs = [assembly.loads(q, u, free, held)[0], _squeeze(bed, contacts, q, held), ca.MX(ca.DM([0, 0, 1]))]
        return ca.Function("plant_loads", [state, full, torque], outputs)
    force, _ = motion.force(q, u, extra, ca.vertcat(_delivered(bed, full, before)[0], torque, before.drawn))
    free_force, velocity, acceleration, displacement = EliminationMotion(bed, contacts, motion).drive(extra)
    drive = free_force, velocity, acceleration, ca.DM(NO_FEEDBACK), displacement
    _, held, independence = assembly.driven(q, u, force, *drive)
    wrench, _ = assembly.loads(q, u, free_force, held)
    squeeze = _squeeze(bed, contacts, q, held)
    errors = assembly.errors(q, u, velocity, displacement) if contacts.n_held else (ca.MX(1, 1), ca.MX(1, 1))
    gap, slip = (ca.mmax(ca.fabs(error)) for error in errors)
    return ca.Function("plant_loads", [state, full, torque], [wrench, squeeze, ca.vertcat(gap, slip, independence)])


def _squeeze(bed: Testbed, contacts: ContactSet, q: ca.MX, held: ca.MX) -> ca.MX:
    """Norm of the internal force of each module between contacts."""
    internal = dict(zip(contacts.modules, contacts.assembly.internal_forces.call([q, held]), strict=True))
    return ca.vertcat(ca.MX(0, 1), *(ca.norm_2(internal[module]) for module in bed.squeezed))


def part_function(bed: Testbed, motion: PlantMotion) -> ca.Function:
    """(state, thrust of each thruster with a full tank, torque of each motor, x, h) -> x after h, independence.

    A part of the step that begins in this state, from any x = [q; u; extra] in it, under the forces of that step; h may
    be negative.
    """
    before, (state, full, torque) = _symbols(bed, motion)
    thrust, *_ = _delivered(bed, full, before)
    x, h = ca.MX.sym("x", motion.n_q + motion.n_u + motion.n_extra), ca.MX.sym("h")
    p = ca.vertcat(thrust, torque, before.drawn)
    return ca.Function("plant_part", [state, full, torque, x, h], motion.step(x, p, h))


def step_function(bed: Testbed, motion: PlantMotion, part: ca.Function) -> ca.Function:
    """(state, thrust of each thruster with a full tank, torque of each motor) -> state one step later, independence."""
    before, (state, full, torque) = _symbols(bed, motion)
    x = ca.vertcat(before.q, before.u, before.extra)
    x, independence = part(state, full, torque, x, bed.simulation.physics_step_s)
    after = lab_function(bed, motion)(state, full, x)
    return ca.Function("plant_step", [state, full, torque], [after, independence])


def _symbols(bed: Testbed, motion: PlantMotion) -> tuple[PlantState[ca.MX], tuple[ca.MX, ca.MX, ca.MX]]:
    """The state part by part; the whole of it, thrust of each thruster with a full tank, torque of each motor."""
    start = initial_state(bed, np.zeros(motion.n_q), np.zeros(motion.n_u))
    ends = np.cumsum([0, *(len(part) for part in start)]).tolist()
    state, torque = ca.MX.sym("state", ends[-1]), ca.MX.sym("torque", n_held(bed))
    full = ca.MX.sym("thrust", n_thrusters(bed))
    return PlantState(*ca.vertsplit(state, ends)), (state, full, torque)


def _delivered(bed: Testbed, full: ca.MX, before: PlantState[ca.MX]) -> tuple[ca.MX, ca.MX, ca.MX]:
    return delivered(bed, full, before.left, before.pulses, by_name(bed, before.drawn))


def sensed_joints(bed: Testbed) -> list[str]:
    """The joints of all joint sensors, device after device."""
    return [joint for sensors in bed.devices_of(JointDevice).values() for joint in sensors.joints]


def first_sensed(bed: Testbed, sensors: JointDevice) -> int:
    """Index of the first joint of a device among them; two devices may sense one joint."""
    devices = list(bed.devices_of(JointDevice).values())
    index = next(i for i, device in enumerate(devices) if device is sensors)
    return sum(len(device.joints) for device in devices[:index])


def _sensed(bed: Testbed) -> tuple[list[int], list[int]]:
    """Indices of the sensed joints in q and in u."""
    joints = sensed_joints(bed)
    return [bed.layout.joint_q(joint) for joint in joints], [bed.layout.joint_u(joint) for joint in joints]


def _picked(x: ca.MX, at: list[int]) -> ca.MX:
    """Some entries as a column, also none of a single one: `x[[]]` would be a row then."""
    return x[at] if at else ca.MX(0, 1)


def _rate_filters(bed: Testbed) -> list[RateFilter | None]:
    """Of each sensed joint; none where the sensor gives the rate itself."""
    filters: list[RateFilter | None] = []
    for sensors in bed.devices_of(JointDevice).values():
        a, b, step = sensors.filter_a_rad_s, sensors.filter_b_rad_s, bed.simulation.physics_step_s
        filters += [RateFilter(a, b, step) if a > 0 and b > 0 else None] * len(sensors.joints)
    return filters
