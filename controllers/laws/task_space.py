"""Computed torque in task space, for any contact set and any number of actuators.

The equations of motion with the grips in force are affine in the actuators x (torques, and wrenches of thrusters):

    u' = u0 + U x                                            (Schur complement of the closed contacts, `mrds`)
    u0 = u'(q, u, d + r(u))                                  d: estimated disturbance, r: resistance of the joints
    a_i = a_ref + K_v (v_ref - v) + K_p (x_ref - x)          demanded acceleration of task i
    min over x   sum_i w_i |J_i u' + J_i' u - a_i|^2 + e |c x|^2    lower <= x <= upper

A box-constrained least-squares problem. Its unbounded optimum follows from its equations in the same compiled function
as the problem; DAQP solves it where that exceeds a bound. Where there are as many tasks as actuators it is computed
torque; where there are fewer actuators than degrees of freedom, momentum fixes the rest (resolved momentum: Umetani and
Yoshida, IEEE Trans. Robotics and Automation 5, 1989); where a closed chain leaves an internal force free, e chooses the
least torques and thrust, shared among all vehicles that hold each other; c is the weight of a moment of thrusters in
newtons (`controller.allocation.torque_weight_1_m`), 1 of others. A root without a task gets no thrust. Tasks and
weights come with the reference (`controllers/behaviours/tasks.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import casadi as ca
import numpy as np

from granite.config.base import NotNegative, Positive, Table
from granite.config.devices.momentum_wheel import rate_limits
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.gains import LiveGain, around
from granite.config.records import NOTHING, Array, Demand, Reference, State
from granite.config.testbed import Testbed
from granite.controllers.behaviours.tasks import CENTRE, TaskLayout
from granite.controllers.contact_sets import ReportedContactSet
from granite.controllers.distribution.quadratic_program import QuadraticProgram
from granite.controllers.laws.computed_torque import ComputedTorque
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm
from granite.mrds.dynamics import force_on_root
from granite.mrds.elimination import eliminate


class TaskGain(Table):
    """Feedback of a target's acceleration."""

    stiffness_1_s2: NotNegative
    damping_1_s: NotNegative


class TaskSpace:
    """The law with the gains of a testbed."""

    class Options(ComputedTorque.Options):
        """Gains of coordinates as in `computed_torque`, of points and of the mass centre."""

        follows_tasks: ClassVar[bool] = True
        gives_joint_accelerations: ClassVar[bool] = False
        arguments: ClassVar[frozenset[str]] = ComputedTorque.Options.arguments | {"points", "centre"}

        points: TaskGain = TaskGain(stiffness_1_s2=64.0, damping_1_s=16.0)
        centre: TaskGain = TaskGain(stiffness_1_s2=4.0, damping_1_s=4.0)
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

    def __init__(self, options: Options, model: ControlModel) -> None:
        bed = model.bed
        self._n_wrench, self._undisturbed = model.n_wrench, np.zeros(model.n)
        gains = [options.gain(c.name, c.name in model.layout.joints) for c in model.layout.velocities]
        #: current gains of the coordinates, which may be changed between two ticks
        self.stiffness, self.damping = (np.array([gain[i] for gain in gains]) for i in (0, 1))
        #: stiffness and damping of points, then of the mass centre
        self.target_gains: Array = np.array(
            [gain for table in (options.points, options.centre) for gain in (table.stiffness_1_s2, table.damping_1_s)]
        )
        controlled = (model.layout.u[module.name] for module in bed.controlled)
        self._tuned = np.array([i for part in controlled for i in range(part.start, part.stop)], dtype=int)
        layout, sets = TaskLayout(bed), model.contact_sets
        key = bed.fingerprint and f"{bed.fingerprint} {options.effort} {bed.control.allocation.torque_weight_1_m}"

        def write() -> list[ca.Function]:
            return [_function(model, layout, options, gripped, f"tasks_{i}") for i, gripped in enumerate(sets)]

        kernels = compile_once("task_space", key, write)
        self._kernels = [kernels[f"tasks_{i}"] for i in range(len(sets))]
        self._contacts = ReportedContactSet(model)
        force = np.concatenate([NOTHING, *(_wrench_bounds(model))])
        torque = np.array([motor.torque_limit_n_m for motor in bed.motors])
        self._upper = np.concatenate([torque, force])
        self._wheels = [(i, model.driven[i], limit) for i, limit in rate_limits(bed).items()]
        m = len(self._upper)
        self._no_rows, self._sense = np.zeros((0, m)), np.zeros(m, dtype=np.int32)
        #: of each wrench its slice of x, the weights of its root in the task, and its slice of the demand
        self._wrenches: list[tuple[slice, slice, slice]] = []
        at = len(torque)
        for device in bed.devices_of(Thrusters).values():
            module = device.pushed(bed)
            root, own = model.layout.root_u(module), model.wrench_slice(module)
            size = own.stop - own.start
            self._wrenches.append((slice(at, at + size), slice(1 + root.start, 1 + root.stop), own))
            at += size

    def compiled_form(self) -> CompiledForm:
        """The same in C, for ticks in which no actuator is at its bound."""
        parts, roots, in_demand = zip(*self._wrenches, strict=True) if self._wrenches else ((), (), ())
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {
                "LAW_GRIPS": self._contacts.reports.shape[1],
                "LAW_SETS": len(self._kernels),
                "LAW_ACTUATORS": len(self._upper),
                "LAW_WHEELS": len(self._wheels),
                "LAW_WRENCHES": len(self._wrenches),
                "LAW_N_WRENCH": self._n_wrench,
            },
            {
                "LAW_WHEEL": [i for i, _, _ in self._wheels],
                "LAW_WHEEL_VELOCITY": [at for _, at, _ in self._wheels],
                "LAW_WRENCH": [part.start for part in parts],
                "LAW_WRENCH_SIZE": [part.stop - part.start for part in parts],
                "LAW_WRENCH_START": [own.start for own in in_demand],
                "LAW_ROOT": [root.start for root in roots],
            },
            parameters={
                "law_stiffness": self.stiffness,
                "law_damping": self.damping,
                "law_target_gains": self.target_gains,
                "law_sets": self._contacts.reports,
                "law_upper": self._upper,
                "law_wheel_limit": np.array([limit for _, _, limit in self._wheels]),
            },
            memory={"law_set": self._contacts.index},
            kernels={"task_space": self._kernels},
            entry="task_space_control",
        )

    def tune(self, values: Array) -> None:
        """Set the gains of `Options.live_gains`."""
        n = 2 * len(self._tuned)
        self.stiffness[self._tuned], self.damping[self._tuned] = values[:n].reshape(2, -1)
        self.target_gains[: len(values) - n] = values[n:]

    def control(self, state: State, reference: Reference) -> Demand:
        """Accelerations, and the generalised force of the best torques and wrenches."""
        kernel = self._kernels[self._contacts.follow(state.holding)]
        gains = self.stiffness, self.damping, self.target_gains
        d = state.disturbance if len(state.disturbance) else self._undisturbed
        given = state.q, state.u, d, reference.q, reference.u, reference.a, reference.task, *gains
        x, acceleration, force, H, f, u0, U, B = kernel.split(kernel.run(given))
        upper, lower = self._upper.copy(), -self._upper
        for i, at, limit in self._wheels:
            rate = state.u.item(at)
            upper[i], lower[i] = (0.0 if rate >= limit else upper[i]), (0.0 if rate <= -limit else lower[i])
        for part, root, _ in self._wrenches:
            if not reference.task[root].any():  # a root without a task coasts
                upper[part] = lower[part] = 0.0
        if not ((lower <= x) & (x <= upper)).all():
            H = np.ascontiguousarray(H)
            solution = QuadraticProgram(H, f, self._no_rows, upper, lower, self._sense).solve()
            # No torques are known: the guard ends the run, because the demand is not finite.
            x = solution.x if solution.is_optimal else np.full(len(upper), np.nan)
            acceleration, force = u0 + U @ x, B @ x
        wrench = np.zeros(self._n_wrench)
        for part, _, own in self._wrenches:
            wrench[own] = x[part]
        return Demand(state.t, acceleration, force, wrench, NOTHING)


def _wrench_bounds(model: ControlModel) -> list[Array]:
    """Most of each component of the wrench of each device of thrusters [N, N m]."""
    bounds = []
    for device in model.bed.devices_of(Thrusters).values():
        wrenches = thruster_matrix(device, device.pushed(model.bed).dimension) * available_thrust(device)
        bounds.append(np.minimum(np.maximum(wrenches, 0.0).sum(axis=1), np.maximum(-wrenches, 0.0).sum(axis=1)))
    return bounds


def _function(
    model: ControlModel, layout: TaskLayout, options: TaskSpace.Options, gripped: frozenset[str], name: str
) -> ca.Function:
    """(q, u, disturbance, q_ref, u_ref, a_ref, task, K_p, K_v, gains of targets) -> the optimum without bounds, its
    acceleration and force; H and f of the programme, u0, U, and B of the force B x."""
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
    # At the rate of the estimate: tasks of points have no reference of the joints.
    resisting = ca.Function("resisting", [model.u], [ca.densify(model.resistance(model.u))])
    rows = _rows(model, layout)
    given = [ca.MX.sym(rows.name_in(i), rows.size1_in(i)) for i in range(rows.n_in())]
    q, u, d = *given[:2], ca.MX.sym("d", model.n)
    B, (J, error, weight) = acting(q), rows(*given)
    moved, load = model.motion_under(gripped), ca.MX.sym("force", model.n)
    accelerated = moved(q, u, load)
    # The motion is affine in the force: its derivative is exact.
    per_force = ca.jacobian(accelerated, load)
    u0, per_force = ca.substitute([accelerated, per_force], [load], [d + resisting(u)])
    U = per_force @ B
    R = J @ U
    H = R.T @ (ca.repmat(weight, 1, R.shape[1]) * R) + ca.MX(ca.diag(options.effort * ca.DM(effort)))
    f = R.T @ (weight * (J @ u0 + error))
    free = _free_optimum(R.shape[1])(H, f)
    given.insert(2, d)
    return ca.Function(name, given, [ca.densify(part) for part in (free, u0 + U @ free, B @ free, H, f, u0, U, B)])


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
