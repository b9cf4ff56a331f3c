"""Torque of the motors at their joints: lag, ripple, cogging, back-EMF, and gears with compliance and backlash."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.devices.motors import Gear, Motor, MotorErrors, Motors
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree
from granite.sim.plant.stable_step import refuse_faster


class _Drive(NamedTuple):
    """A motor with the errors of its device."""

    motor: Motor
    errors: MotorErrors


def drives(bed: Testbed) -> list[_Drive]:
    """Of all motors, in the order of the testbed."""
    return [_Drive(motor, device.simulated) for device in bed.devices_of(Motors).values() for motor in device.units]


def n_drive_states(bed: Testbed) -> int:
    """Number of inner states of motors: one with a lag, two more with a compliant gear."""
    return sum((d.errors.lag_s is not None) + 2 * (d.errors.gear is not None) for d in drives(bed))


def motor_torque(
    bed: Testbed, q: ca.SX, u: ca.SX, torque: ca.SX, inner: ca.SX, drawn: Mapping[str, ca.SX]
) -> tuple[ca.SX, ca.SX]:
    """Generalised force of the motors on all modules, and the rates of their inner states.

    Angle and rate of a motor are those of its joint, or what a transmission makes of those of several.
    The inner state of a lag is the torque that follows, T tau' = command - tau; those of a gear are angle and rate of
    its rotor, counted at the joint.
    """
    pushes, rates, states = [], [], iter(ca.vertsplit(inner) if inner.numel() else [])
    indices = [bed.layout.joint_u(motor.joint) for motor in bed.motors]
    angles, speeds = q[[bed.layout.joint_q(motor.joint) for motor in bed.motors]], u[indices]
    if bed.transmission is not None:
        angles, speeds = (ca.sparsify(ca.DM(bed.transmission.T)) @ x for x in (angles, speeds))
    for i, (motor, errors) in enumerate(drives(bed)):
        angle, rate = angles[i], speeds[i]
        follows = torque[i]
        if errors.lag_s is not None:
            follows = next(states)
            rates.append((torque[i] - follows) / errors.lag_s)
        if errors.gear is None:
            pushed = _electric(motor, errors, angle, rate, follows, drawn, i)
        else:
            turned, speed = next(states), next(states)
            pushed = _flanks(errors.gear, turned - angle, speed - rate)
            given = _electric(motor, errors, turned, speed, follows, drawn, i)
            rates += [speed, (given - pushed) / errors.gear.rotor_inertia_kg_m2]
        pushes.append(pushed)
    total, torques = ca.SX.zeros(u.numel()), ca.vertcat(ca.SX(0, 1), *pushes)
    if bed.transmission is not None:
        torques = ca.sparsify(ca.DM(bed.transmission)) @ torques
    for i, index in enumerate(indices):
        total[index] += torques[i]
    return total, ca.vertcat(ca.SX(0, 1), *rates)


def drives_at_rest(bed: Testbed, q: Array, u: Array) -> Array:
    """The inner states at the start: no torque, gears in the middle of their backlash without wind-up."""
    states: list[float] = []
    for motor, errors in drives(bed):
        states += [] if errors.lag_s is None else [0.0]
        if errors.gear is not None:
            states += [float(q[bed.layout.joint_q(motor.joint)]), float(u[bed.layout.joint_u(motor.joint)])]
    return np.array(states)


def _electric(
    motor: Motor, errors: MotorErrors, angle: ca.SX, rate: ca.SX, torque: ca.SX, drawn: Mapping[str, ca.SX], i: int
) -> ca.SX:
    """Torque on the rotor: at most what the voltage leaves beside the back-EMF, with ripple, and cogging."""
    if errors.no_load_rate_rad_s is not None:
        # The line from the torque limit at rest to none at the no-load rate; a brake has the whole torque.
        forth, back = (
            motor.torque_limit_n_m * ca.fmax(0, ca.fmin(1, 1 - sign * rate / errors.no_load_rate_rad_s))
            for sign in (1, -1)
        )
        torque = ca.if_else(torque > forth, forth, ca.if_else(torque < -back, -back, torque))  # NaN stays NaN
    if errors.ripple_ratio > 0:
        torque *= 1 + errors.ripple_ratio * ca.sin(errors.ripple_per_turn * angle + drawn["motor_ripple"][i])
    if errors.cogging_n_m > 0:
        torque += errors.cogging_n_m * ca.sin(errors.cogging_per_turn * angle + drawn["motor_cogging"][i])
    return torque


def _flanks(gear: Gear, wind: ca.SX, speed: ca.SX) -> ca.SX:
    """Torque on the joint by flanks that are pressed, with damping (Hunt and Crossley 1975); they never pull."""
    deep = wind - ca.fmax(-gear.backlash_rad / 2, ca.fmin(gear.backlash_rad / 2, wind))
    return gear.stiffness_n_m_rad * deep * ca.fmax(0, 1 + gear.damping_s_rad * ca.sign(deep) * speed)


def refuse_stiff_gears(bed: Testbed, q: Array) -> None:
    """Raise where the physics step is too long for a lag, or for a rotor and its joint on the flanks of their gear."""
    for motor, errors in drives(bed):
        if errors.lag_s is not None:
            refuse_faster(bed, 1 / errors.lag_s, f"the lag of the motor on '{motor.joint}' is short", "more lag_s")
    geared = [(drive.motor.joint, drive.errors.gear) for drive in drives(bed) if drive.errors.gear is not None]
    if not geared:
        return
    trees = [Tree(module) for module in bed.modules]
    M = ca.diagcat(*(Dynamics(tree).mass_matrix for tree in trees))
    M = ca.Function("M", [ca.vertcat(*(tree.q for tree in trees))], [ca.densify(M)])(q).full()
    admittance = np.diag(np.linalg.inv(M))
    for joint, gear in geared:
        both = 1 / gear.rotor_inertia_kg_m2 + admittance[bed.layout.joint_u(joint)]
        rate = math.sqrt(gear.stiffness_n_m_rad * both)
        problem = f"the gear of joint '{joint}' is too stiff"
        refuse_faster(bed, rate, problem, "less stiffness_n_m_rad or more rotor_inertia_kg_m2")
