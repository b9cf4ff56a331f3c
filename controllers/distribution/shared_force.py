"""The generalised force shared among valves, wheel and motors: what thrusters get, and torques for what they deliver.

Before the valves are chosen (`before_valves`), the demanded force F meets the limits of the motors. A motor that would
exceed its limit gets the limit, and the acceleration of its joint follows. All other accelerations stay as demanded, so
the wrench on the base changes by what the joint no longer does:

    F' = F + M x,    (S M S + 1 - S) x = S (F_limit - F),    S: coordinates whose force is given, x their acceleration

After it (`after_valves`), the thrust f of the valves is given. Its difference from F' accelerates the bases by a_b, and
the torques change so that the joints keep their accelerations (ours; the Stanford report of 1987 stops at the plain
law). With b the coordinates without a motor,

    M_bb a_b = (B f - F')_b          tau = F'_j + M_jb a_b

Only differences from the demand enter, so that torques which the law adds for other reasons than an acceleration, such
as friction, stay. Where contacts are closed, held objects keep their accelerations and grips their forces, an internal
force included: the hands do not move with the base. With J the constraint Jacobian and N = [1; -J_j^# J_b],

    (M N)_b a_b = (B f - F')_b       tau = F'_j + (M N)_j a_b

Vehicles that hold each other move as one: with D the constraint Jacobian of these contacts, whose forces l change,

    (M N)_b a_b = (B f - F')_b + D_b^T l,   D N a_b = 0       tau = F'_j + (M N)_j a_b - D_j^T l

In an open chain, motors beyond their limits then get these as above, now with the forces of the bases given too; with
closed contacts the guard clamps them. A fixed arm has no bases; the rest is the same for it.

Where a transmission joins the motors of several joints, j counts motors: with T of `config/joints.py`, F_j are
their torques T^-1 F, and M and x are those of their angles, P^T M P and P^-1 x with P = T^-T of the driven joints.

A yaw wheel (`controller.allocation.yaw_wheel`) makes the yaw torque of its vehicle. Before the valves, thrusters are
asked only for the yaw torque that it can not give, and for the one that unloads it; after them, it makes the demanded
yaw acceleration in spite of what the valves deliver.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.contacts import Contact
from granite.config.controller import YawWheel
from granite.config.devices.momentum_wheel import rate_limits
from granite.config.records import Array
from granite.controllers.loaded_model import loaded
from granite.controllers.model import ControlModel
from granite.mrds.dynamics import solve
from granite.mrds.elimination import eliminate

#: how often motors beyond their limits are looked for: the limit of one may load another
_PASSES = 2
#: parts of a wheel's rate limit: up to the one the wheel is driven, because beyond the limit it refuses torque, and
#: below it the driving torque fades out within the other, because noise of the rate would switch it
_HIGHEST, _FADING = 0.98, 0.05
#: added to the square of an arm's reach [m2]: near a singular pose the joints stop following the hand
_SINGULAR = 1e-5


def resolves(model: ControlModel) -> bool:
    """Whether torques are solved again: for the thrust that valves deliver, and under the limits of the motors.

    Without thrusters, where the law gives the accelerations of an open chain and does not keep the limits itself.
    """
    bed = model.bed
    has_room = bool(bed.thrusters) or (bed.control.law.gives_joint_accelerations and not bed.contacts)
    return bool(bed.control.resolve_delivered and model.driven and has_room)


def before_valves(model: ControlModel) -> ca.Function:
    """(q, u, force and wrench of the demand, disturbance, unloading, payload) -> wrench for the thrusters, force,
    unloading, planned torque of the yaw wheel."""
    n, bed, model = model.n, model.bed, loaded(model)
    wheel = bed.control.allocation.yaw_wheel
    force, d = ca.SX.sym("F", n), ca.SX.sym("d", n)
    wrench, unloading = ca.SX.sym("wrench", model.n_wrench), ca.SX.sym("unloading", 1 if wheel else 0)
    given = [model.q, model.u, force, wrench, d, unloading, *_payload(model)]
    change, planned = ca.SX.zeros(n), ca.SX(0, 1)
    if resolves(model):
        limits, torque, by_wheel = _Limits(model), model.motor_torque(force[model.driven]), None
        if wheel:
            motor, at, yaw = _wheel_indices(model, wheel)
            unloading, M = _unloading(model, wheel, unloading), limits.inertia
            away = ca.sign(model.u[at] - wheel.set_point_rad_s)
            left = unloading * (-away * wheel.torque_n_m - d[yaw])
            # The acceleration of the wheel changes so that this yaw torque is left to the thrusters.
            by_wheel = torque[motor] + M[at, at] / M[yaw, at] * (left - force[yaw])
        change = limits.inertia @ limits.change(torque, model.passive, by_wheel)
        if wheel:
            planned = torque[motor] + change[at]
        if bed.transmission is not None:
            change[model.driven] = ca.sparsify(ca.DM(bed.transmission)) @ change[model.driven]
    return ca.Function("shared", given, [wrench + model.wrenches(change), force + change, unloading, planned])


def _payload(model: ControlModel) -> list[ca.SX]:
    return [model.payload] if model.payload.numel() else []


def after_valves(model: ControlModel, gripped: frozenset[str] = frozenset(), name: str = "delivered") -> ca.Function:
    """(q, u, force, planned torque of the yaw wheel, mean opening of each valve, payload) -> torques of the motors,
    thrust; with these grips closed."""
    model = loaded(model)
    n, driven, bed = model.n, model.driven, model.bed
    contacts = model.contacts_under(gripped)
    docked = [contact for contact in contacts if _joins_vehicles(model, contact)]
    force, planned = ca.SX.sym("F", n), ca.SX.sym("planned", int(bed.control.allocation.yaw_wheel is not None))
    opening = ca.SX.sym("opening", len(bed.thrusters))
    thrust = ca.DM(model.available) * opening
    torque = model.motor_torque(force[driven]) if driven else ca.SX(0, 1)
    if resolves(model):
        free = [i for i in range(n) if i not in driven]
        off = model.thrust_force(thrust) - force
        if not contacts:
            a, limits = ca.SX.zeros(n), _Limits(model)
            if free:
                a[free] = solve(limits.inertia[free, free], off[free])
            torque = _limited(model, limits, torque + (limits.inertia @ a)[driven], planned, a, free)
        else:
            held = [contact for contact in contacts if contact not in docked]
            J, D = model.constraint_jacobian(held), model.constraint_jacobian(docked)
            torque = torque + model.motor_torque(_with_held_hands(model, J, D, off, free))
    given = [model.q, model.u, force, planned, opening, *_payload(model)]
    return ca.Function(name, given, [torque, thrust])


def _with_held_hands(model: ControlModel, J: ca.SX, D: ca.SX, force: ca.SX, free: list[int]) -> ca.SX:
    """Change of the torques where vehicles accelerate under a force on what has no motor, and hands stay."""
    driven, M = model.driven, model.mass_matrix
    b = [i for own in _vehicles(model).values() for i in own if i in free]
    J_j, N_j = J[:, driven], ca.SX.zeros(len(driven), len(b))
    if J.shape[0]:
        N_j = -J_j.T @ eliminate(J_j @ J_j.T + _SINGULAR * ca.SX.eye(J.shape[0]), J[:, b])[0]
    inertia, on_joints, off = M[b, b] + M[b, driven] @ N_j, ca.SX.zeros(len(driven)), force[b]
    if D.shape[0]:
        G, pushed = D[:, b] + D[:, driven] @ N_j, ca.solve(inertia, ca.horzcat(off, D[:, b].T))
        change = ca.solve(G @ pushed[:, 1:], -G @ pushed[:, 0])  # of the forces: l of the formula
        on_joints, off = D[:, driven].T @ change, off + D[:, b].T @ change
    a_b = ca.solve(inertia, off)
    return M[driven, b] @ a_b + M[driven, driven] @ (N_j @ a_b) - on_joints


def _vehicles(model: ControlModel) -> dict[str, range]:
    """The velocities of each module with an actuator: held objects have none."""
    parts = {module.name: range(model.n)[model.layout.u[module.name]] for module in model.layout.modules}
    return {name: own for name, own in parts.items() if set(model.active) & set(own)}


def _joins_vehicles(model: ControlModel, contact: Contact) -> bool:
    return {contact.first.module, contact.second.module} <= set(_vehicles(model))


def _limited(model: ControlModel, limits: _Limits, torque: ca.SX, planned: ca.SX, a: ca.SX, free: list[int]) -> ca.SX:
    """Torques that fit those beyond their limits; the yaw wheel keeps the yaw acceleration, which the valves change by
    that of `a`, as far as it can."""
    wheel, by_wheel, motor = model.bed.control.allocation.yaw_wheel, None, -1
    if wheel:
        motor, at, yaw = _wheel_indices(model, wheel)
        given, unit = ca.SX.zeros(model.n), ca.SX.zeros(model.n)
        given[[*free, at]], unit[at] = 1, 1
        asked = torque[motor] - a[yaw] / _response(limits.inertia, given, unit)[yaw]
        # The valves give on average what was planned, so the wheel must as well: where it can not give more, not less.
        room = limits.room(motor, planned)
        by_wheel = ca.fmin(ca.fmax(asked, planned - room), planned + room)
    x = limits.change(torque, free, by_wheel)
    needed = torque + (limits.inertia @ x)[model.driven]
    for i in range(len(model.driven)):
        if i != motor:
            # A torque beyond the motor's limit is left as it is: the guard clamps and reports it.
            needed[i] = ca.if_else(ca.fabs(torque[i]) > limits.torque[i], torque[i], needed[i])
    return needed


class _Limits:
    """Torques that the motors can give now: near its highest rate a wheel can drive less, at that rate only brake.

    `inertia` is the mass matrix with the angles of the motors in place of those of their joints.
    """

    def __init__(self, model: ControlModel) -> None:
        self._model, self.inertia, rates = model, model.mass_matrix, rate_limits(model.bed)
        if (T := model.bed.transmission) is not None:
            P: Array = np.eye(model.n)
            P[np.ix_(model.driven, model.driven)] = np.linalg.inv(T).T
            self.inertia = ca.sparsify(ca.DM(P.T)) @ self.inertia @ ca.sparsify(ca.DM(P))
        self.torque = [motor.torque_limit_n_m for motor in model.bed.motors]
        self._lower, self._upper = (ca.SX(sign * ca.DM(self.torque)) for sign in (-1, 1))
        for i, highest in rates.items():
            rate, most, band = model.u[model.driven[i]], _HIGHEST * highest, _FADING * highest
            self._lower[i] *= ca.fmin(ca.fmax((most + rate) / band, 0.0), 1.0)
            self._upper[i] *= ca.fmin(ca.fmax((most - rate) / band, 0.0), 1.0)

    def room(self, i: int, torque: ca.SX) -> ca.SX:
        """How far a motor's torque is from the nearer of its limits."""
        return ca.fmax(ca.fmin(self._upper[i] - torque, torque - self._lower[i]), 0.0)

    def change(self, torque: ca.SX, given: list[int], by_wheel: ca.SX | None) -> ca.SX:
        """Change of the accelerations where motors do not give the torques that the accelerations need.

        Those beyond their limits give the limit, the yaw wheel gives `by_wheel` within its own; the forces of the
        coordinates `given` stay the same.
        """
        model, n = self._model, self._model.n
        wheel = model.bed.control.allocation.yaw_wheel
        motor = _wheel_indices(model, wheel)[0] if wheel else -1
        missing, is_given, needed = ca.SX.zeros(n), ca.SX.zeros(n), ca.SX(torque)
        is_given[given] = 1
        x = ca.SX.zeros(n)
        for _ in range(_PASSES):
            for i, at in enumerate(model.driven):
                asked = by_wheel if by_wheel is not None and i == motor else needed[i]
                limited = ca.fmin(ca.fmax(asked, self._lower[i]), self._upper[i])
                exceeds = ca.SX(1) if i == motor else ca.logic_or(is_given[at], limited != needed[i])
                missing[at] = ca.if_else(is_given[at], missing[at], ca.if_else(exceeds, limited - torque[i], 0.0))
                is_given[at] = exceeds
            x = _response(self.inertia, is_given, missing)
            needed = torque + (self.inertia @ x)[model.driven]
        return x


def _wheel_indices(model: ControlModel, wheel: YawWheel) -> tuple[int, int, int]:
    """Of a yaw wheel: the number of its motor, and the indices of its rate and of its vehicle's yaw rate in u."""
    motor = [motor.joint for motor in model.bed.motors].index(wheel.joint)
    yaw = model.layout.root_u(model.layout.module_of(wheel.joint)).stop - 1
    return motor, model.driven[motor], yaw


def _response(M: ca.SX, given: ca.SX, force: ca.SX) -> ca.SX:
    """Accelerations under a force on the coordinates whose force is `given` (1); the others do not accelerate."""
    S = ca.diag(given)
    return solve(S @ M @ S + ca.diag(1 - given), given * force)


def _unloading(model: ControlModel, wheel: YawWheel, before: ca.SX) -> ca.SX:
    """1 while the thrusters unload the wheel: from `begin_ratio` of its highest rate down to `end_ratio`."""
    motor, at, _ = _wheel_indices(model, wheel)
    off = ca.fabs(model.u[at] - wheel.set_point_rad_s) / rate_limits(model.bed)[motor]
    return ca.if_else(off > wheel.begin_ratio, 1.0, ca.if_else(off < wheel.end_ratio, 0.0, before))
