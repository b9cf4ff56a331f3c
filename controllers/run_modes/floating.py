"""Floating and resting: no thrust, joints damped or free, grips as they are.

Joints are damped by tau_i = -k M_ii(q) u_i, which takes energy out whatever the model is wrong in.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from granite.config.devices.motors import Motors
from granite.config.records import NOTHING, Array
from granite.config.testbed import Testbed
from granite.controllers.behaviours.braking import braking_function, finite, inertia_function
from granite.controllers.behaviours.tasks import interrupted
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import can_brake, coasting_wheels
from granite.controllers.symbolic import SymbolicAllocation, SymbolicBehaviour, SymbolicLaw, record_sizes
from granite.kernels.compilation import compile_once
from granite.kernels.function_part import named_function
from granite.kernels.kernel import Kernel


class EstimateFollower(SymbolicBehaviour):
    """A reference without a target: the estimate itself."""

    def __init__(self, bed: Testbed, kernel: Kernel) -> None:
        n_direct = sum(len(device.signals(bed)) for device in bed.direct_actuators.values())
        task = interrupted(bed) if bed.controller else NOTHING
        super().__init__(bed, kernel, {"direct": np.zeros(n_direct)}, otherwise={"task": task})

    def begin(self, direct: tuple[Array, ...]) -> None:
        """Set points of grips stay as they are."""
        self.parameters["direct"][:] = np.concatenate([NOTHING, *direct])


class JointDamping(SymbolicLaw):
    """A law that damps the joints with motors."""

    def __init__(self, model: ControlModel, kernel: Kernel) -> None:
        rate: Array = np.zeros(model.n)
        rate[model.driven] = model.bed.safety.braking.float_damping_1_s
        for joint in coasting_wheels(model.bed):
            rate[model.layout.joint_u(joint)] = 0.0
        super().__init__(model.bed, kernel, {"rate": rate}, otherwise={"distribution": recorded_numbers(model.bed)})


def no_force(bed: Testbed, kernel: Kernel) -> SymbolicLaw:
    """The law of a robot at rest: it demands nothing."""
    recorded = recorded_numbers(bed) if bed.controller else NOTHING
    return SymbolicLaw(bed, kernel, otherwise={"distribution": recorded})


def torques_only(bed: Testbed, kernel: Kernel) -> SymbolicAllocation:
    """The allocate step without thrust: torques of the demand, valves closed, grips as the reference has them."""
    return SymbolicAllocation(bed, kernel)


def mode_kernels(bed: Testbed, model: ControlModel | None) -> dict[str, Kernel]:
    """The functions of all these parts, and of the brake."""

    def write() -> list[ca.Function]:
        functions = [_following(bed), _no_force(bed), _torques_only(bed)]
        if model is not None:
            functions += [inertia_function(model), _joint_damping(model)]
            if can_brake(bed):
                functions.append(braking_function(model))
        return functions

    return compile_once("run_modes", bed.fingerprint, write)


def _sizes(bed: Testbed) -> Mapping[str, int]:
    return {name: sum(size) if isinstance(size, tuple) else size for name, size in record_sizes(bed).items()}


def _following(bed: Testbed) -> ca.Function:
    sizes = _sizes(bed)
    q, u = ca.SX.sym("q", sizes["state_q"]), ca.SX.sym("u", sizes["state_u"])
    direct = ca.SX.sym("direct", sizes["reference_direct"])
    outputs = {"reference_q": finite(q), "reference_u": finite(u), "reference_direct": direct}
    return named_function("following", {"state_q": q, "state_u": u, "parameter_direct": direct}, outputs)


def _no_force(bed: Testbed) -> ca.Function:
    return named_function("no_force", {}, {"demand_force": ca.SX.zeros(_sizes(bed)["demand_force"])})


def _joint_damping(model: ControlModel) -> ca.Function:
    rate, q = ca.SX.sym("rate", model.n), finite(model.q)
    inertia = ca.substitute(ca.diag(model.mass_matrix), model.q, q)
    inputs = {"state_q": model.q, "state_u": model.u, "parameter_rate": rate}
    return named_function("joint_damping", inputs, {"demand_force": -rate * inertia * finite(model.u)})


def _torques_only(bed: Testbed) -> ca.Function:
    sizes = _sizes(bed)
    force, direct = ca.SX.sym("force", sizes["demand_force"]), ca.SX.sym("direct", sizes["reference_direct"])
    setpoints, first, motor = [], 0, 0
    torques = force[[bed.known.joint_u(one.joint) for one in bed.motors]] if bed.controller else ca.SX(0, 1)
    if bed.controller and bed.transmission is not None:
        torques = ca.sparsify(ca.DM(np.linalg.inv(bed.transmission))) @ torques
    for name, device in bed.actuators.items():
        n = len(device.signals(bed))
        if isinstance(device, Motors) and bed.controller:
            setpoints.append(torques[motor : motor + n])
            motor += n
        elif name in bed.direct_actuators:
            setpoints.append(direct[first : first + n])
            first += n
        else:
            setpoints.append(ca.SX.zeros(n))
    outputs = {"command_setpoints": ca.vertcat(ca.SX(0, 1), *setpoints)}
    return named_function("torques_only", {"reference_direct": direct, "demand_force": force}, outputs)


def recorded_numbers(bed: Testbed) -> Array:
    """What the law of a testbed records beside its demand, while it does not run: NaN, or a number that is no fault."""
    law = bed.control.law
    names = [c.name for c in law.recorded(bed)]
    numbers = np.full(len(names), np.nan)
    for limit in law.judged(bed):
        bounds = [bound for bound in (limit.least, limit.most) if np.isfinite(bound)]
        numbers[names.index(limit.name)] = bounds[0] if bounds else 0.0
    return numbers
