"""The limits of a testbed as one compiled function: a tick in, the code of the first broken one out."""

from __future__ import annotations

import math
import sys

import casadi as ca

from granite.config.testbed import Testbed
from granite.rt.reasons import Reason

#: when it does not hold, that is the reason
Limit = tuple[ca.SX, Reason]


def limits(bed: Testbed) -> ca.Function:
    """(joint angles, rates, pose, ages of joints and pose, q, u, q of the reference, torque, opening, grip)
    -> a `Reason`."""
    devices, n_u = bed.devices, len(bed.estimated_velocities)
    n_s = len(devices.joint_sensors.joints) if devices.joint_sensors else 0
    n_q, n_m = len(bed.estimated_positions), len(devices.motors)
    n_t = len(devices.thrusters.units) if devices.thrusters else 0
    angle, rate, pose, ages = (ca.SX.sym(s, n) for s, n in (("angle", n_s), ("rate", n_s), ("pose", 3), ("ages", 2)))
    q, u, q_ref = (ca.SX.sym(s, n) for s, n in (("q", n_q), ("u", n_u), ("q_ref", n_q)))
    torque, opening, grip = ca.SX.sym("torque", n_m), ca.SX.sym("opening", n_t), ca.SX.sym("grip", len(bed.grips))
    in_order = [
        *_measured(bed, angle, rate, pose, ages),
        *_moving(bed, q, u, q_ref),
        *_commanded(bed, torque, opening, grip),
    ]
    code = ca.SX(Reason.PASSED)
    for holds, reason in reversed(in_order):
        code = ca.if_else(holds, code, reason)
    return ca.Function("limits", [angle, rate, pose, ages, q, u, q_ref, torque, opening, grip], [code])


def _measured(bed: Testbed, angle: ca.SX, rate: ca.SX, pose: ca.SX, ages: ca.SX) -> list[Limit]:
    measured = [angle, rate, pose] if _floats(bed) else [angle, rate]
    # Only without a controller a limit may be missing, and then there is nothing to watch.
    return [
        (_finite(*measured), Reason.SAMPLE_NOT_FINITE),
        (ages[0] <= (bed.safety.joint_sensor_age_s or math.inf), Reason.JOINT_SENSORS_STALE),
        (ages[1] <= (bed.safety.vision_age_s or math.inf), Reason.VISION_STALE),
    ]


def _moving(bed: Testbed, q: ca.SX, u: ca.SX, q_ref: ca.SX) -> list[Limit]:
    safety, coordinates = bed.safety, bed.estimated_velocities
    names, n = [c.name for c in coordinates], len(coordinates)
    lower, upper, rate = [-math.inf] * n, [math.inf] * n, [math.inf] * n
    why_place, why_rate = [Reason.JOINT_LIMIT] * n, [Reason.JOINT_TOO_FAST] * n
    for joint in safety.joints:
        i = names.index(joint.joint)
        lower[i], upper[i], rate[i] = joint.lower_rad, joint.upper_rad, joint.rate_rad_s
    found = [(_finite(q, u), Reason.STATE_NOT_FINITE), (_finite(q_ref), Reason.REFERENCE_NOT_FINITE)]
    if _floats(bed):
        why_place[:3], why_rate[:3] = [Reason.TABLE_EDGE] * 3, [Reason.BASE_TOO_FAST] * 3
        rate[2] = safety.base_rate_rad_s or math.inf
        if safety.table_m:
            lower[:2], upper[:2] = safety.table_m[:2], safety.table_m[2:]
    found += [(_between(lower[i], q[i], upper[i]), why_place[i]) for i in range(n)]
    found += [(_between(-rate[i], u[i], rate[i]), why_rate[i]) for i in range(n)]
    if _floats(bed) and safety.base_speed_m_s:
        found.append((ca.norm_2(u[:2]) <= safety.base_speed_m_s, Reason.BASE_TOO_FAST))
    for i, c in enumerate(coordinates):
        error = safety.tracking_error_m if c.unit == "m/s" else safety.tracking_error_rad
        found.append((ca.fabs(q_ref[i] - q[i]) <= (error or math.inf), Reason.TRACKING_ERROR))
    return found


def _commanded(bed: Testbed, torque: ca.SX, opening: ca.SX, grip: ca.SX) -> list[Limit]:
    motors = bed.devices.motors
    return [
        (_finite(torque, opening, grip), Reason.COMMAND_NOT_FINITE),
        *((_between(0.0, each, 1.0), Reason.OPENING_OUT_OF_RANGE) for each in ca.vertsplit(opening)),
        *((ca.logic_or(each == 0, each == 1), Reason.GRIP_OUT_OF_RANGE) for each in ca.vertsplit(grip)),
        *(
            (_between(-motor.torque_limit_n_m, torque[i], motor.torque_limit_n_m), Reason.TORQUE_CLAMPED)
            for i, motor in enumerate(motors)
        ),
    ]


def _floats(bed: Testbed) -> bool:
    """Whether there is a floating base whose pose is estimated."""
    return bed.controller is not None and bed.robot.base == "floating"


def _finite(*vectors: ca.SX) -> ca.SX:
    """A sum is finite only if all its parts are."""
    return ca.fabs(ca.sum1(ca.vertcat(*vectors))) <= sys.float_info.max


def _between(lower: float, x: ca.SX, upper: float) -> ca.SX:
    """False also for what is not a number."""
    return ca.logic_and(lower <= x, x <= upper)
