"""Computed torque in task space, for any contact set and any number of actuators.

The equations of motion with the grips in force are affine in the actuators x (torques, and wrenches of thrusters):

    u' = u0 + U x                                            (Schur complement of the closed contacts, `mrds`)
    u0 = u'(q, u, d + r)                                     d: estimated disturbance, r: resistance of the joints
    a_i = a_ref + K_v (v_ref - v) + K_p (x_ref - x)          demanded acceleration of task i
    min over x   sum_i w_i |J_i u' + J_i' u - a_i|^2 + e |c x|^2    lower <= x <= upper

A box-constrained least-squares problem. Its unbounded optimum follows from its equations in the same compiled function
as the problem; DAQP solves it where that exceeds a bound. Where there are as many tasks as actuators it is computed
torque; where there are fewer actuators than degrees of freedom, momentum fixes the rest (resolved momentum: Umetani and
Yoshida, IEEE Trans. Robotics and Automation 5, 1989); where a closed chain leaves an internal force free, e chooses the
least torques and thrust, shared among all vehicles that hold each other; c is the weight of a moment of thrusters in
newtons (`controller.allocation.torque_weight_1_m`), 1 of others. A root without a task gets no thrust, and none does
in a state in which thrusters may not fire. Tasks and weights come with the reference
(`controllers/behaviours/tasks.py`).

Resistance is that at the rate of the reference where a coordinate has a task of its own: a joint that is to hold still
is held by its friction, which the rate of the estimate would remove, or more than that where the joint has less than
the model. Joints that follow a point have no reference of their own: there it is at the rate of the estimate.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import casadi as ca
import numpy as np

from granite.config.base import NotNegative, Positive, Table
from granite.config.devices.momentum_wheel import rate_limits
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.gains import LiveGain, around
from granite.config.records import Array, Demand, Reference, State
from granite.config.testbed import Testbed
from granite.controllers.behaviours.tasks import CENTRE, TaskLayout
from granite.controllers.contact_sets import ReportedContactSet
from granite.controllers.distribution.quadratic_program import QuadraticProgram
from granite.controllers.laws.computed_torque import ComputedTorque
from granite.controllers.model import ControlModel
from granite.controllers.symbolic import SymbolicLaw
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.kernels.compilation import compile_once
from granite.mrds.dynamics import force_on_root
from granite.mrds.elimination import eliminate

#: inputs of the function of a contact set, and of the programme that the Python form solves
_INPUTS = [
    "state_q", "state_u", "state_disturbance", "reference_q", "reference_u", "reference_a", "reference_task",
    "parameter_stiffness", "parameter_damping", "parameter_target_gains",
]  # fmt: skip
_PROGRAMME = ("H", "f", "upper", "lower", "u0", "U", "B")


class TaskGain(Table):
    """Feedback of a target's acceleration."""

    stiffness_1_s2: NotNegative  #: acceleration for each metre or radian of error
    damping_1_s: NotNegative  #: acceleration for each m/s or rad/s of error


class TaskSpace(SymbolicLaw):
    """The law with the gains of a testbed."""

    class Options(ComputedTorque.Options):
        """Gains of coordinates as in `computed_torque`, of points and of the mass centre."""

        follows_tasks: ClassVar[bool] = True
        gives_joint_accelerations: ClassVar[bool] = False
        arguments: ClassVar[frozenset[str]] = ComputedTorque.Options.arguments | {"points", "centre"}

        points: TaskGain = TaskGain(stiffness_1_s2=64.0, damping_1_s=16.0)  #: gains of points
        centre: TaskGain = TaskGain(stiffness_1_s2=4.0, damping_1_s=4.0)  #: gains of the mass centre
        #: cost of a torque or force beside errors of acceleration: the e of the formula
        effort: Positive = 1e-6

        def followed(self, bed: Testbed) -> tuple[str, ...]:
            """None by all its coordinates: the tasks change from state to state."""
            return ()

        def live_gains(self, bed: Testbed) -> tuple[LiveGain, ...]:
            """Those of the coordinates, of points and, where a module floats, of the mass centre."""
            has_centre = any(target.name == CENTRE for target in TaskLayout(bed).targets)
            return (
                *super().live_gains(bed),
                *(
                    around(f"{name}_{kind}", unit, getattr(getattr(self, name), key), f"{what} of {name}")
                    for name in ("points", *(["centre"] if has_centre else []))
                    for kind, key, unit, what in (
                        ("stiffness", "stiffness_1_s2", "1/s2", "acceleration per error"),
                        ("damping", "damping_1_s", "1/s", "acceleration per rate error"),
                    )
                ),
            )

    @staticmethod
    def check(options: Options, bed: Testbed) -> None:
        """Refuse gains of unknown coordinates, and behaviours that give no tasks."""
        ComputedTorque.check(options, bed)
        if not bed.behaviour.recorded(bed):
            raise InputError(
                f"behaviour '{bed.behaviour.kind}' gives no tasks", key="kind", value=options.kind,
                expected="a state machine beside it",
            )  # fmt: skip

    def __init__(self, options: Options, model: ControlModel, *, uses_disturbance: bool = True) -> None:
        bed = model.bed
        gains = [options.gain(c.name, c.name in model.layout.joints) for c in model.layout.velocities]
        parameters = {name: np.array([gain[i] for gain in gains]) for i, name in enumerate(("stiffness", "damping"))}
        #: stiffness and damping of points, then of the mass centre
        parameters["target_gains"] = np.array(
            [gain for table in (options.points, options.centre) for gain in (table.stiffness_1_s2, table.damping_1_s)]
        )
        controlled = (model.layout.u[module.name] for module in bed.controlled)
        self._tuned = np.array([i for part in controlled for i in range(part.start, part.stop)], dtype=int)
        layout, sets = TaskLayout(bed), model.contact_sets
        key = bed.fingerprint and f"{bed.fingerprint} {options.effort} {uses_disturbance}"

        def write() -> list[ca.Function]:
            common = model, layout, options, uses_disturbance
            return [_function(*common, gripped, f"task_space_{i}") for i, gripped in enumerate(sets)]

        kernels = compile_once("task_space", key, write)
        in_order = [kernels[f"task_space_{i}"] for i in range(len(sets))]
        super().__init__(bed, in_order, parameters, choice=ReportedContactSet(model))
        self._wrenches = _wrenches(model)

    def tune(self, values: Array) -> None:
        """Set the gains of `Options.live_gains`."""
        n, gains = 2 * len(self._tuned), self.parameters
        gains["stiffness"][self._tuned], gains["damping"][self._tuned] = values[:n].reshape(2, -1)
        gains["target_gains"][: len(values) - n] = values[n:]

    def control(self, state: State, reference: Reference) -> Demand:
        """Accelerations, and the generalised force of the best torques and wrenches."""
        outputs = self.evaluate(state=state, reference=reference)
        if outputs["python_needed"]:
            H, f, upper, lower, u0, U, B = (outputs[f"python_{name}"] for name in _PROGRAMME)
            no_rows, sense = np.zeros((0, len(f))), np.zeros(len(f), dtype=np.int32)
            solution = QuadraticProgram(np.ascontiguousarray(H), f, no_rows, upper, lower, sense).solve()
            # No torques are known: the guard ends the run, because the demand is not finite.
            x = solution.x if solution.is_optimal else np.full(len(f), np.nan)
            wrench = np.zeros(len(outputs["demand_wrench"]))
            for part, _, own in self._wrenches:
                wrench[own] = x[part]
            outputs |= {"demand_acceleration": u0 + U @ x, "demand_force": B @ x, "demand_wrench": wrench}
        demand: Demand = self.finish(outputs, state=state, reference=reference)
        return demand

    compiled_form = SymbolicLaw.form


class _Wrench(NamedTuple):
    """Of a device of thrusters: what belongs to its wrench."""

    actuators: slice  #: among x
    weights: slice  #: of its root in the task
    demanded: slice  #: in the demand


def _wrenches(model: ControlModel) -> list[_Wrench]:
    wrenches, at = [], len(model.driven)
    for device in model.bed.devices_of(Thrusters).values():
        module = device.pushed(model.bed)
        root, own = model.layout.root_u(module), model.wrench_slice(module)
        size = own.stop - own.start
        wrenches.append(_Wrench(slice(at, at + size), slice(1 + root.start, 1 + root.stop), own))
        at += size
    return wrenches


def _bounds(model: ControlModel, layout: TaskLayout) -> ca.Function:
    """(x, u, task) -> upper and lower bounds of x [N m, N], whether x is outside of them, and the demanded wrench."""
    limits = [motor.torque_limit_n_m for motor in model.bed.motors]
    for device in model.bed.devices_of(Thrusters).values():
        wrenches = thruster_matrix(device, device.pushed(model.bed).dimension) * available_thrust(device)
        limits += np.minimum(np.maximum(wrenches, 0.0).sum(axis=1), np.maximum(-wrenches, 0.0).sum(axis=1)).tolist()
    x, u, task = ca.SX.sym("x", len(limits)), ca.SX.sym("u", model.n), ca.SX.sym("task", layout.size)
    upper, lower, wrench = ca.SX(limits), -ca.SX(limits), ca.SX.zeros(model.n_wrench)
    for i, limit in rate_limits(model.bed).items():
        rate = u[model.driven[i]]
        upper[i], lower[i] = ca.if_else(rate >= limit, 0.0, upper[i]), ca.if_else(rate <= -limit, 0.0, lower[i])
    for actuators, _, demanded in _wrenches(model):
        wrench[demanded] = x[actuators]
    is_within = ca.SX(1)
    for i in range(len(limits)):
        is_within = ca.logic_and(is_within, ca.logic_and(lower[i] <= x[i], x[i] <= upper[i]))
    outputs = [ca.densify(part) for part in (upper, lower, ca.logic_not(is_within), wrench)]
    return ca.Function("bounds", [x, u, task], outputs)


def _used(model: ControlModel, layout: TaskLayout) -> ca.Function:
    """task -> 1 for each actuator that is used; 0 for wrenches on a root without a task, or while none may fire."""
    task, used = ca.SX.sym("task", layout.size), ca.SX.ones(len(model.driven) + model.n_wrench)
    for actuators, weights, _ in _wrenches(model):
        has_task = ca.SX(0)
        for weight in ca.vertsplit(task[weights]):
            has_task = ca.logic_or(has_task, weight != 0)
        used[actuators] = ca.logic_and(has_task, task[-1] != 0)
    return ca.Function("used", [task], [used])


def _function(
    model: ControlModel,
    layout: TaskLayout,
    options: TaskSpace.Options,
    uses_disturbance: bool,
    gripped: frozenset[str],
    name: str,
) -> ca.Function:
    """The demand of the optimum without bounds, whether it exceeds one, and the programme: H, f, bounds; u0, U, B."""
    actuators = [ca.SX.sym("tau", len(model.driven))]
    effort = [1.0] * len(model.driven)
    force = model.torque_force(actuators[0])
    for device in model.bed.devices_of(Thrusters).values():
        module = device.pushed(model.bed)
        wrench = ca.SX.sym("wrench", 3 if module.dimension == "planar" else 6)
        force[model.layout.u[module.name]] += force_on_root(model.trees[module.name], wrench)
        actuators.append(wrench)
        half = wrench.numel() // 2 + wrench.numel() % 2  # forces: two of three, three of six
        effort += [1.0] * half + [model.bed.control.allocation.torque_weight_1_m**2] * (wrench.numel() - half)
    x = ca.vertcat(*actuators)
    acting = ca.Function("acting", [model.q], [ca.densify(ca.jacobian(force, x))])
    u_ref, weights = ca.SX.sym("u_ref", model.n), ca.SX.sym("weights", model.n)
    at_rate = model.resistance(ca.if_else(weights != 0, u_ref, model.u))
    resisting = ca.Function("resisting", [model.u, u_ref, weights], [ca.densify(at_rate)])
    rows = _rows(model, layout)
    given = [ca.MX.sym(rows.name_in(i), rows.size1_in(i)) for i in range(rows.n_in())]
    q, u, d = *given[:2], ca.MX.sym("d", model.n)
    B, (J, error, weight) = acting(q), rows(*given)
    moved, load = model.motion_under(gripped), ca.MX.sym("force", model.n)
    accelerated = moved(q, u, load)
    passive = resisting(u, given[3], given[5][1 : 1 + model.n])
    if uses_disturbance:
        passive = d + passive
    # The motion is affine in the force: its derivative is exact.
    per_force = ca.jacobian(accelerated, load)
    u0, per_force = ca.substitute([accelerated, per_force], [load], [passive])
    used = _used(model, layout)(given[5])
    U = per_force @ B
    R = J @ (U * ca.repmat(used[: U.shape[1]].T, U.shape[0], 1))
    H = R.T @ (ca.repmat(weight, 1, R.shape[1]) * R) + ca.MX(ca.diag(options.effort * ca.DM(effort)))
    f = R.T @ (weight * (J @ u0 + error))
    free = _free_optimum(R.shape[1])(H, f)
    given.insert(2, d)
    upper, lower, is_outside, demanded = _bounds(model, layout)(free, u, given[6])
    outputs: dict[str, Any] = {"demand_acceleration": u0 + U @ free, "demand_force": B @ free}
    outputs |= {"demand_wrench": demanded, "python_needed": is_outside}
    programme = zip(_PROGRAMME, (H, f, upper, lower, u0, U, B), strict=True)
    outputs |= {f"python_{what}": value for what, value in programme}
    return ca.Function(name, given, [ca.densify(value) for value in outputs.values()], _INPUTS, list(outputs))


def _free_optimum(n: int) -> ca.Function:
    """(H, f) -> the x of H x + f = 0."""
    H, f = ca.SX.sym("H", n, n), ca.SX.sym("f", n)
    return ca.Function("free_optimum", [H, f], [eliminate(H, -f)[0]])


def _rows(model: ControlModel, layout: TaskLayout) -> ca.Function:
    """(q, u, q_ref, u_ref, a_ref, task, K_p, K_v, gains of targets) -> J, J' u - a, and the weight of each row."""
    n, n_q = model.n, model.q.numel()
    q_ref, u_ref, a_ref = (ca.SX.sym(name, size) for name, size in (("q_ref", n_q), ("u_ref", n), ("a_ref", n)))
    task, kp, kv = ca.SX.sym("task", layout.size), ca.SX.sym("kp", n), ca.SX.sym("kv", n)
    gains = ca.SX.sym("gains", 4)
    J, error, weight = [ca.SX.eye(n)], [-(a_ref + kv * (u_ref - model.u) + kp * (q_ref - model.q))], [task[1 : 1 + n]]
    at = 1 + n
    for target in layout.targets:
        own = model.layout.u[target.module]
        jacobian = ca.SX.zeros(2, n)
        if target.point is None:
            mass = ca.sum1(ca.vertcat(*(b.mass for b in model.trees[target.module].bodies)))
            dynamics = model.dynamics[target.module]
            position = dynamics.centre_of_mass()[:2]
            jacobian[:, own], drift = dynamics.mass_matrix[:2, :] / mass, dynamics.bias[:2] / mass
            stiffness, damping = gains[2], gains[3]
        else:
            point = model.point(target.module, target.point)
            position, stiffness, damping = point.position[:2], gains[0], gains[1]
            jacobian[:, own], drift = point.jacobian[:2, :], point.drift[:2]
        x, v, a, w = task[at : at + 2], task[at + 2 : at + 4], task[at + 4 : at + 6], task[at + 6]
        at += 7
        wanted = a + damping * (v - jacobian @ model.u) + stiffness * (x - position)
        J.append(jacobian)
        error.append(drift - wanted)
        weight.append(ca.vertcat(w, w))
    given = [model.q, model.u, q_ref, u_ref, a_ref, task, kp, kv, gains]
    return ca.Function("rows", given, [ca.densify(ca.vertcat(*parts)) for parts in (J, error, weight)], {"cse": True})
