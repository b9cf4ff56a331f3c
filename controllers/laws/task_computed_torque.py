"""Computed torque in task space: the errors of a named point are fed back, not those of the joints that move it.

    x'' = x_ref'' + K_d (x_ref' - x') + K_p (x_ref - x)                      of the point
    q_j'' = J_j^# (x'' - J' u - J_b q_b'') + (1 - J_j^# J_j) q_j0''          of the joints j on its way
    J_j^# = J_j^T (J_j J_j^T + d^2)^-1

The reference of the point is where the reference of all coordinates brings it. q_j0'', which acts where there are more
joints than directions, and all other coordinates b follow computed torque with the gains of their own. J_b q_b'' is
what the others do to the point, so that a moving base does not disturb it. The damping d keeps the inverse bounded in
singular poses (Nakamura and Hanafusa, ASME J. Dyn. Syst. Meas. Control 108, 1986).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from granite.config.base import Name, NotNegative, Positive
from granite.config.errors import InputError, one_of
from granite.controllers.laws.computed_torque import ComputedTorque, motion_gains
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import SymbolicLaw
from granite.kernels.compilation import compile_once
from granite.kernels.function_part import named_function

if TYPE_CHECKING:
    from granite.config.testbed import Testbed


class TaskComputedTorque(ComputedTorque):
    """The law for one point of one arm."""

    class Options(ComputedTorque.Options):
        """The point and its gains, beside those of the coordinates."""

        #: may be left out where one module is controlled
        module: Name | None = None
        point: Name  #: name of the controlled point
        point_stiffness_1_s2: Positive = 16.0  #: acceleration for each metre of the point's error
        point_damping_1_s: Positive = 8.0  #: acceleration for each m/s of its error
        #: of the inverse of the Jacobian
        damping_m: NotNegative = 1e-3

        def arm(self, bed: Testbed) -> str:
            """The module of the point."""
            return self.module or bed.controlled[0].name

    @staticmethod
    def check(options: Options, bed: Testbed) -> None:  # type: ignore[override]
        """Refuse a point that does not exist, or that no motor moves."""
        ComputedTorque.check(options, bed)
        modules = [module.name for module in bed.controlled]
        if options.module not in modules and (options.module or len(modules) != 1):
            expected = one_of(str(options.module), modules)
            raise InputError("no such controlled module", key="module", value=options.module, expected=expected)
        arm = bed.module(options.arm(bed))
        points = [point.name for point in arm.points]
        if options.point not in points:
            expected = one_of(options.point, points) if points else f"a point of '{arm.name}', which has none"
            raise InputError("no such point", key="point", value=options.point, expected=expected)
        if not any(bed.layout.module_of(motor.joint).name == arm.name for motor in bed.motors):
            raise InputError("no motor moves it", key="point", value=options.point, expected="a joint with a motor")

    def __init__(self, options: Options, model: ControlModel) -> None:
        key = model.bed.fingerprint and f"{model.bed.fingerprint} {options.model_dump_json()}"
        kernels = compile_once("task_computed_torque", key, lambda: [_function(options, model)])
        gains = motion_gains(options, model)
        gains["point_gains"] = np.array([options.point_stiffness_1_s2, options.point_damping_1_s])
        SymbolicLaw.__init__(self, model.bed, kernels["task_computed_torque"], gains)
        self._begin(options, model)


def _function(options: TaskComputedTorque.Options, model: ControlModel) -> ca.Function:
    arm, bed = options.arm(model.bed), model.bed
    own = model.layout.u[arm]
    q_ref = ca.SX.sym("q_ref", model.q.numel())
    u_ref, a_ref, kp, kv = (ca.SX.sym(s, model.n) for s in ("u_ref", "a_ref", "kp", "kv"))
    gains = ca.SX.sym("gains", 2)
    point = model.point(arm, options.point)
    rows = [0, 1] if bed.module(arm).dimension == "planar" else [0, 1, 2]
    J = point.jacobian[rows, :]
    # Where the reference brings the point; its acceleration has the velocity terms of the reference.
    there = ca.substitute([point.position[rows], J, point.drift[rows]], [model.q, model.u], [q_ref, u_ref])
    x_ref, v_ref, acc_ref = there[0], there[1] @ u_ref[own], there[1] @ a_ref[own] + there[2]
    wanted = acc_ref + gains[1] * (v_ref - J @ model.u[own]) + gains[0] * (x_ref - point.position[rows])
    a = a_ref + kv * (u_ref - model.u) + kp * (q_ref - model.q)
    first = own.start
    moved = [i for i in model.driven if own.start <= i < own.stop and J[:, i - first].nnz()]
    columns = [i - first for i in moved]
    others = [i for i in range(own.stop - first) if i not in columns]
    J_j = J[:, columns]
    inverse = J_j.T @ ca.inv(J_j @ J_j.T + options.damping_m**2 * ca.SX.eye(len(rows)))
    drift = point.drift[rows] + J[:, others] @ a[[first + i for i in others]]
    a[moved] = inverse @ (wanted - drift) + a[moved] - inverse @ (J_j @ a[moved])
    a = model.complete(a, ca.SX.zeros(model.n))
    force = model.inverse(a)
    force[model.driven] -= model.resistance(u_ref)[model.driven]
    inputs = {
        "state_q": model.q,
        "state_u": model.u,
        "reference_q": q_ref,
        "reference_u": u_ref,
        "reference_a": a_ref,
        "parameter_stiffness": kp,
        "parameter_damping": kv,
        "parameter_point_gains": gains,
    }
    outputs = {"demand_acceleration": a, "demand_force": force, "demand_wrench": model.wrenches(force)}
    return named_function("task_computed_torque", inputs, outputs)
