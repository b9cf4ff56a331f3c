"""The grasp of arms with flexible links whose modes move: torques and elastic accelerations affine in the wrenches.

The symbols of `FlexibleArm` (Sun 3.52 to 3.55, 4.6), for the motion of a tick with all velocity terms:

    q_e'' = M^_ee^-1 (-h_e - M_re^T c) + J3^T w          c = J_r^-1 (tip acceleration less its velocity terms)
    tau = M_rr c + M^_re q_e0'' + h_r + J1^T w

Before a run, the elastic plant that a force distribution leaves is checked at the start pose (`stability.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from scipy.linalg import block_diag

from granite.config.coordinates import amplitudes, joints
from granite.config.errors import InputError
from granite.config.modules import Module
from granite.config.records import Array
from granite.controllers.distribution.flexible_arm import FlexibleArm
from granite.controllers.distribution.force_distribution import ForceDistribution
from granite.controllers.distribution.stability import Stability, distributed
from granite.controllers.laws.carrying import ArmGrip, GraspSymbols, grasp_in_symbols
from granite.controllers.model import ControlModel


class _Arm(NamedTuple):
    """One arm in symbols."""

    n: int  #: joints
    rows: list[int]  #: of its velocities among all
    J: ca.SX
    drift: ca.SX
    M: ca.SX
    h: ca.SX
    strain: ca.SX  #: force of stiffness and damping on the modes


def with_modes(
    model: ControlModel, carried: Module, grips: tuple[ArmGrip, ...], acceleration: ca.SX, grasp: GraspSymbols
) -> GraspSymbols:
    """The grasp of `grasp_in_symbols`, for modes that move."""
    torque, driven, torque_maps, elastics, maps, guides = [], list[int](), [], [], [], []
    moving = grasp.matrix.T
    loads = grasp.matrix @ ca.solve(moving @ grasp.matrix, grasp.load)  # A1^+ b1
    at, states = 0, []
    for grip in grips:
        arm, held = _arm(model, grip), model.point(carried.name, grip.held)
        n, size = arm.n, len(grip.rows)
        J_r, J_e = arm.J[:, :n], arm.J[:, n:]
        tip = held.jacobian[grip.rows, :] @ acceleration + held.drift[grip.rows] - arm.drift
        M_rr, M_re, M_ee = arm.M[:n, :n], arm.M[:n, n:], arm.M[n:, n:]
        share, c = ca.solve(J_r, J_e), ca.solve(J_r, tip)
        hat_re, hat_ee = M_re - M_rr @ share, M_ee - M_re.T @ share
        tilde_ee = hat_ee - share.T @ hat_re
        elastic_map = -ca.solve(hat_ee, J_e.T)
        elastic = ca.solve(hat_ee, -arm.h[n:] - M_re.T @ c)
        torque.append(M_rr @ c + hat_re @ elastic + arm.h[:n])
        torque_maps.append(J_r.T + hat_re @ elastic_map)
        elastics.append(elastic)
        maps.append(elastic_map)
        guides.append(
            elastic_map @ loads[at : at + size] - ca.solve(tilde_ee, arm.strain) + ca.solve(hat_ee, arm.strain)
        )
        driven += arm.rows[:n]
        states += arm.rows[n:]
        at += size
    order = [driven.index(index) for index in model.driven]
    return grasp._replace(
        free_torque=model.motor_torque(ca.vertcat(*torque)[order]),
        torque_map=model.motor_torque(ca.diagcat(*torque_maps)[order, :]).T,
        free_elastic=ca.vertcat(*elastics),
        elastic_map=ca.diagcat(*maps).T,
        elastic=model.q[states],  # fixed planar or spatial arms: positions and velocities have the same indices
        elastic_rate=model.u[states],
        guided=ca.vertcat(*guides),
    )


def arms_at(model: ControlModel, grips: tuple[ArmGrip, ...], q: Array) -> list[FlexibleArm]:
    """The arms in one configuration, at rest."""
    arms = []
    for grip in grips:
        arm, own = _arm(model, grip), model.layout.u[grip.arm.name]
        modes = model.u[arm.rows[arm.n :]], model.q[arm.rows[arm.n :]]
        D, K = (ca.jacobian(arm.strain, symbols) for symbols in modes)
        function = ca.Function("arm", [model.q, model.u], [ca.densify(x) for x in (arm.M, arm.J, K, D)])
        M, J, K, D = (value.full() for value in function(q, np.zeros(model.n)))
        assert len(M) == own.stop - own.start
        arms.append(FlexibleArm.of(M, J, K, D))
    return arms


def stiffness(model: ControlModel, grips: tuple[ArmGrip, ...]) -> Array:
    """K_ee of all arms; `InputError` where all links are rigid."""
    if not any(amplitudes(grip.arm) for grip in grips):
        key = "controller.law.modes"
        raise InputError("all links are rigid", key=key, value="inverse_dynamics", expected="'quasi_static'")
    stiffness: Array = block_diag(*(arm.K for arm in arms_at(model, grips, _start_pose(model)))).astype(np.float64)
    return stiffness


def refuse_divergence(
    distribution: ForceDistribution, model: ControlModel, carried: Module, grips: tuple[ArmGrip, ...]
) -> None:
    """Refuse a distribution that leaves an unstable elastic plant at the start pose."""
    start, own = _start_pose(model), model.layout.u[carried.name]
    grasp = grasp_in_symbols(model, carried, grips, ca.SX.zeros(own.stop - own.start))
    function = ca.Function("grasp", [model.q], [ca.densify(x) for x in (grasp.matrix, grasp.positions, grasp.axes)])
    matrix, where, axes = (np.ascontiguousarray(value.full().T) for value in function(start))
    n = where.shape[1]
    plant = distributed(distribution, arms_at(model, grips, start), matrix, where, axes.reshape(-1, n, n))
    stability = Stability.of(plant)
    if stability.verdict == "unstable":
        kinds = [objective.kind for objective in distribution.table.objective]
        raise InputError(
            f"elastic motion grows by {stability.largest:.3g} 1/s", key="controller.law.distribution.objective",
            value=kinds, expected="one that answers to the modes (led_from_outside), or allow_unstable = true",
        )  # fmt: skip


def _start_pose(model: ControlModel) -> Array:
    initial = model.bed.simulation.initial
    return np.array([initial.get(c.key, 0.0) for c in model.layout.positions])


def _arm(model: ControlModel, grip: ArmGrip) -> _Arm:
    n, own = len(joints(grip.arm)), model.layout.u[grip.arm.name]
    dynamics, tip = model.dynamics[grip.arm.name], model.point(grip.arm.name, grip.tip)
    rows = [*range(own.start, own.stop)]
    h = dynamics.bias
    modes = model.u[rows[n:]]
    # Without velocities only the strain is left of h; damping is linear in the rates of the modes.
    still, damping = ca.substitute([h[n:], ca.jacobian(h[n:], modes)], [model.u], [ca.SX.zeros(model.n)])
    return _Arm(
        n, rows, tip.jacobian[grip.rows, :], tip.drift[grip.rows], dynamics.mass_matrix, h, still + damping @ modes
    )
