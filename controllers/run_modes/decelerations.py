"""Decelerations that a robot can hold on its way to rest, from its data sheets or from `safety.braking`."""

from __future__ import annotations

import math
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.devices.momentum_wheel import rate_limits
from granite.config.devices.thrusters import Thrusters
from granite.config.footprints import obstacles
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.mrds.clearance import TimedPose

#: directions in which the force of the thrusters is looked at
_DIRECTIONS = 16
#: a brake takes this long at least, so that a small velocity does not end by a step of the force
SHORTEST_BRAKE_S = 0.25
#: so long after a brake measured obstacles must not reach the robot: about as long as it takes to cross their way [s]
FORESIGHT_S = 5.0
#: of an object that arms carry, whose forces no data sheet has [m/s^2, rad/s^2]
_CARRIED = (0.1, 0.5)


class BrakingGroup(NamedTuple):
    """Velocities that come to rest together, along their common direction."""

    indices: tuple[int, ...]
    #: along the direction [m/s^2 or rad/s^2]; of a moment or torque in `effort` it follows from the inertia
    deceleration: float | None
    effort: float = math.nan  #: [N m]
    is_carried: bool = False  #: of an object in hands


def base_deceleration(bed: Testbed, thrusters: Thrusters) -> float:
    """Deceleration of a base along its path [m/s^2]: what its thrusters can do in their weakest direction."""
    braking, module = bed.safety.braking, thrusters.pushed(bed)
    if braking.acceleration_m_s2 is not None:
        return braking.acceleration_m_s2
    pushes = (thruster_matrix(thrusters, "planar") * available_thrust(thrusters))[:2]
    angles = np.linspace(0.0, 2 * math.pi, _DIRECTIONS, endpoint=False)
    along = np.vstack((np.cos(angles), np.sin(angles))).T @ pushes
    force = float(np.maximum(along, 0.0).sum(axis=1).min())
    mass = sum(body.mass_kg + (body.flexible.mass_kg if body.flexible else 0.0) for body in module.bodies)
    return braking.thrust_ratio * force / mass


def braked(model: ControlModel) -> list[BrakingGroup]:
    """The velocities that can be brought to rest: bases with thrusters, joints with motors, carried objects."""
    bed, braking, layout = model.bed, model.bed.safety.braking, model.layout
    groups: list[BrakingGroup] = []
    pushed = set()
    for thrusters in bed.devices_of(Thrusters).values():
        module = thrusters.pushed(bed)
        pushed.add(module.name)
        x, y, heading = range(layout.root_u(module).start, layout.root_u(module).stop)
        moments = (thruster_matrix(thrusters, "planar") * available_thrust(thrusters))[2]
        weaker = min(float(np.maximum(sign * moments, 0.0).sum()) for sign in (1.0, -1.0))
        groups.append(BrakingGroup((x, y), base_deceleration(bed, thrusters) or None, 0.0))
        groups.append(BrakingGroup((heading,), braking.acceleration_rad_s2, braking.thrust_ratio * weaker))
    coasting = coasting_wheels(bed)
    for motor in bed.motors:
        if motor.joint in coasting:
            continue
        effort = braking.torque_ratio * bed.joint_torques[motor.joint]
        groups.append(BrakingGroup((layout.joint_u(motor.joint),), braking.joint_rad_s2, effort))
    for module in bed.followed:
        if module.base == "floating" and module.name not in pushed:
            x, y, heading = range(layout.root_u(module).start, layout.root_u(module).stop)
            groups.append(BrakingGroup((x, y), braking.acceleration_m_s2 or _CARRIED[0], is_carried=True))
            groups.append(BrakingGroup((heading,), braking.acceleration_rad_s2 or _CARRIED[1], is_carried=True))
    return [one for one in groups if one.deceleration or one.effort > 0]


def largest_accelerations(model: ControlModel) -> Array:
    """Of each velocity, what a brake may use at the start of a run [m/s^2, rad/s^2]; zero where nothing brakes it."""
    start = [model.bed.simulation.initial.get(c.key, 0.0) for c in model.bed.known.positions]
    inertia = np.array(ca.Function("inertia", [model.q], [ca.diag(model.mass_matrix)])(start)).ravel()
    largest = np.zeros(model.n)
    for group in braked(model):
        largest[list(group.indices)] = group.deceleration or group.effort / inertia[group.indices[0]]
    return largest


def possible_accelerations(model: ControlModel) -> Array:
    """Of each velocity, what all thrusters and motors together give at most at the start of a run [m/s^2, rad/s^2].

    Infinite where none of them acts by itself: an object is driven by the hands that hold it.
    """
    bed = model.bed
    start = [bed.simulation.initial.get(c.key, 0.0) for c in bed.known.positions]
    thrust, torque = ca.SX.sym("thrust", len(bed.thrusters)), ca.SX.sym("torque", len(bed.motors))
    gives = ca.jacobian(model.thrust_force(thrust) + model.torque_force(torque), ca.vertcat(thrust, torque))
    inertia, given = ca.Function("efforts", [model.q], [model.mass_matrix, gives])(start)
    most = [available_thrust(thrusters) for thrusters in bed.devices_of(Thrusters).values()]
    most.append(np.array([motor.torque_limit_n_m for motor in bed.motors]))
    each = np.linalg.solve(np.array(inertia), np.array(given) * np.concatenate(most))
    by_thrust, by_torque = np.split(each, [len(bed.thrusters)], axis=1)
    thrusts = np.maximum(np.maximum(by_thrust, 0.0).sum(axis=1), np.maximum(-by_thrust, 0.0).sum(axis=1))
    accelerations: Array = thrusts + np.abs(by_torque).sum(axis=1)
    return np.where(accelerations > 0.0, accelerations, np.inf)


def stopping_poses(model: ControlModel) -> list[TimedPose]:
    """Poses on the way to rest by braking from q and u: when nothing turns any more, and when all is at rest.

    Each group brakes on its own: after the reaction time t_r and a time s of a brake that takes e it has moved by
    u (t_r + s - s^2 / 2 e). What nothing brakes goes on at its speed until the others rest. Rotations mostly end first:
    the way of a point is straight neither before nor after that, but nearly so in each part. Where there are measured
    obstacles, a third pose is `FORESIGHT_S` later: the robot stands, they go on.
    """
    reaction, inertia, u = model.bed.safety.braking.reaction_s, ca.diag(model.mass_matrix), model.u
    ends: dict[int, ca.SX] = {}
    turning, longest = ca.SX(0), ca.SX(0)
    for group in braked(model):
        indices = list(group.indices)
        most = group.deceleration or group.effort / inertia[indices[0]]
        end = ca.fmax(ca.norm_2(u[indices]) / most, SHORTEST_BRAKE_S)
        ends |= dict.fromkeys(indices, end)
        turning, longest = turning if len(indices) > 1 else ca.fmax(turning, end), ca.fmax(longest, end)
    poses = []
    for time in (turning, longest):
        ways = []
        for i in range(model.n):
            braked_for = ca.fmin(time, ends[i]) if i in ends else time
            ways.append(u[i] * (reaction + braked_for - (braked_for**2 / (2 * ends[i]) if i in ends else 0)))
        poses.append(TimedPose(model.q + ca.vertcat(ca.SX(0, 1), *ways), reaction + time))
    if measured := obstacles(model.bed):
        moving = [i for name in measured for i in range(model.n)[model.layout.u[name]]]
        goes_on = ca.SX.zeros(model.n)
        goes_on[moving] = FORESIGHT_S * u[moving]
        poses.append(TimedPose(poses[-1].q + goes_on, poses[-1].t + FORESIGHT_S))
    return poses


def coasting_wheels(bed: Testbed) -> set[str]:
    """Joints of wheels that keep their momentum, which would turn the base: yaw wheels, and those without thrusters."""
    pushed = {thrusters.pushed(bed).name for thrusters in bed.devices_of(Thrusters).values()}
    joints = [bed.motors[i].joint for i in rate_limits(bed)]
    wheel = bed.control.allocation.yaw_wheel
    wheels = {joint for joint in joints if bed.known.module_of(joint).name not in pushed}
    return wheels | ({wheel.joint} if wheel else set())


def can_brake(bed: Testbed) -> bool:
    """Whether the robot can be brought to rest under control: it has a controller, and moves in a plane."""
    return bed.controller is not None and all(module.dimension == "planar" for module in bed.known.modules)


def decelerations(each: list[BrakingGroup], inertia: Array) -> Array:
    """Of each velocity [m/s^2 or rad/s^2], with the diagonal of the mass matrix as inertia; zero: it is left alone."""
    rates = np.zeros(len(inertia))
    for one in each:
        for i in one.indices:
            rates[i] = one.deceleration or one.effort / inertia[i]
    return rates
