"""Pose of an object in space from the arms that hold it rigidly: no camera is needed.

Joints and modes of the arms come from the Kalman estimator, on the arms alone. Each arm i then gives the pose and the
twist of the object through its tip E and the point P of the object that it holds, which coincide:

    R_WO = R_WE R_EP R_OP^T         p_O = p_E - R_WO p_OP         v_O = v_E + w x (p_O - p_E)

The estimate is the mean over the arms. Its deviation is that of the joints of all arms through their Jacobians.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.base import spatial
from granite.config.errors import InputError
from granite.config.modules import Module, Point
from granite.config.records import Array, Sample, State
from granite.config.rotations import rotation
from granite.config.testbed import Testbed
from granite.controllers.estimation.kalman import KalmanEstimator
from granite.controllers.model import ControlModel
from granite.mrds.compilation import compile_once


class HeldObjectEstimator:
    """Arms by the Kalman estimator, the object by their kinematics."""

    class Options(KalmanEstimator.Options):
        """Process noise of the joints, as the Kalman estimator has it."""

    def __init__(self, options: Options, model: ControlModel) -> None:
        bed = model.bed
        _refuse_others(bed)
        arms = bed.model_copy(update={"controller": bed.control.model_copy(update={"objects": ()})})
        self._arms = KalmanEstimator(options, ControlModel(arms))
        kernel = compile_once("held_object", bed.fingerprint, lambda: [_kinematics(model)])["held_object"]
        self._run, self._split = kernel.run, kernel.split
        self._no_correction = np.zeros(6 * len(bed.control.objects))

    @property
    def measured_modes(self) -> Array | None:
        """Amplitudes of the modes of the arms, where gauges measure them."""
        return self._arms.measured_modes

    @measured_modes.setter
    def measured_modes(self, amplitudes: Array | None) -> None:
        self._arms.measured_modes = amplitudes

    def estimate(self, sample: Sample) -> State:
        """q and u of the arms, then of the objects."""
        arms = self._arms.estimate(sample)
        pose, twist, deviation = self._split(self._run((arms.q, arms.u, arms.deviation)))
        return arms._replace(
            q=_joined(arms.q, pose),
            u=_joined(arms.u, twist),
            deviation=_joined(arms.deviation, deviation),
            correction=_joined(arms.correction, self._no_correction),
        )


def _joined(*parts: Array) -> Array:
    return np.concatenate(parts)


def _refuse_others(bed: Testbed) -> None:
    key = "controller.estimator.kind"
    for name in bed.control.objects:
        if bed.module(name).dimension != "spatial" or bed.module(name).joints_in_tree_order():
            problem = f"'{name}' is no rigid body in space"
            raise InputError(problem, key=key, value="held_object", expected="objects that are; else 'kalman'")
        if not _holders(bed, name):
            problem = f"no controlled arm on a fixed base holds '{name}' rigidly"
            raise InputError(problem, key=key, value="held_object", expected="a contact of kind 'rigid_grasp'")


def _holders(bed: Testbed, carried: str) -> list[tuple[Module, Point, Point]]:
    """Arm, its point and that of the object, of every rigid grasp on it that stays closed."""
    found = []
    for contact in bed.contacts:
        sides = {side.module: str(side.point) for side in (contact.first, contact.second)}
        arms = [module for module in bed.controlled if module.name in sides and module.base == "fixed"]
        if contact.kind == "rigid_grasp" and carried in sides and arms and not bed.holds:
            found.append((arms[0], _point(arms[0], sides), _point(bed.module(carried), sides)))
    return found


def _point(module: Module, sides: dict[str, str]) -> Point:
    return next(point for point in module.points if point.name == sides[module.name])


def _kinematics(model: ControlModel) -> ca.Function:
    """(q and u of the arms, their deviations) -> poses of the objects, twists, deviations."""
    bed = model.bed
    n_q = sum(len(range(*model.layout.q[m.name].indices(10**6))) for m in bed.controlled)
    n_u = sum(len(range(*model.layout.u[m.name].indices(10**6))) for m in bed.controlled)
    q, u, sigma = model.q[:n_q], model.u[:n_u], ca.SX.sym("deviation", n_u)
    poses, twists, deviations = [], [], []
    for name in bed.control.objects:
        holders = _holders(bed, name)
        position, quaternion, twist = ca.SX(3, 1), ca.SX(4, 1), ca.SX(6, 1)
        for arm, own, held in holders:
            tip = model.point(arm.name, own.name)
            R = tip.rotation @ ca.DM(rotation(own.rotation_rad) @ rotation(held.rotation_rad).T)
            lever = -R @ ca.DM(list(spatial(held.position_m)))
            position += (tip.position + lever) / len(holders)
            quaternion += _quaternion(R)
            w = tip.angular_velocity
            twist += ca.vertcat(tip.velocity + ca.cross(w, lever), R.T @ w) / len(holders)
        poses.append(ca.vertcat(position, quaternion / ca.norm_2(quaternion)))
        twists.append(twist)
        deviations.append(ca.sqrt(ca.jacobian(twist, u) ** 2 @ sigma**2))
    found = (ca.densify(ca.vertcat(*part)) for part in (poses, twists, deviations))
    return ca.Function("held_object", [q, u, sigma], list(found))


def _quaternion(R: ca.SX) -> ca.SX:
    """Scalar first and not negative; each part from its own sum on the diagonal, which loses no digits near zero."""

    def part(total: ca.SX, sign: ca.SX | float) -> ca.SX:
        return ca.copysign(ca.sqrt(ca.fmax(total, 0.0)) / 2, sign)

    x, y, z = R[0, 0], R[1, 1], R[2, 2]
    return ca.vertcat(
        part(1 + x + y + z, 1.0), part(1 + x - y - z, R[2, 1] - R[1, 2]),
        part(1 - x + y - z, R[0, 2] - R[2, 0]), part(1 - x - y + z, R[1, 0] - R[0, 1]),
    )  # fmt: skip
