"""An object that several arms hold, from a testbed: which grips, and the grasp of a tick in symbols.

A fixed arm has as many joints as its grip has constrained directions, so that the motion of the object fixes that of
all joints. A vehicle has one or several hands on the object; its base has an acceleration a_b of its own, and its
joints follow from both (J = [J_b J_j], by vehicle):

    J_i q_i'' + J_i' u_i = J_oi a + J_oi' u_o           the tips of arm i move with their points of the object
    tau_i = (M_i q_i'' + h_i + J_i^T w_i)_j             w_i on the object
    w_b = (M_i q_i'' + h_i + J_i^T w_i)_b               of a vehicle, by its thrusters
    sum_i J_oi^T w_i = M_o a + h_o

Hands with fewer joints than constraints move with the object, and the base with them: the least change of the
demanded accelerations, v = v_d + W^-1 J^T (J W^-1 J^T)^-1 (rhs - J v_d), in which the heading gives way last.

Flexible links are bent as the state has them, but q'' of their modes is zero (quasi-static), unless the law asks for
inverse dynamics of the modes too (`flexible_grasp.py`), which is unstable inside where the wrenches do not answer to
the modes (Sun, chapter 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.base import spatial
from granite.config.contacts import Contact
from granite.config.coordinates import amplitudes, joints
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError, one_of
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.distribution.grasp import GraspShape, Grip, VehicleBase
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.controllers.thrusters.reach import Reach, reach
from granite.mrds.dynamics import wrench_on_root

#: contact kinds that can be a grip, by dimension, and whether they transmit a moment
_GRIPS = {
    "planar": {"revolute": False, "rigid_grasp": True},
    "spatial": {"spherical": False, "rigid_grasp": True},
}
#: rows of a twist in world axes: forces, then moments
_ROWS = {"planar": ([0, 1], [5]), "spatial": ([0, 1, 2], [3, 4, 5])}
#: names of the components of a wrench in the log
AXES = {"planar": (("fx", "fy"), ("mz",)), "spatial": (("fx", "fy", "fz"), ("mx", "my", "mz"))}


_NONE = ca.SX(0, 1)
#: inverse weights of x, y and heading of a base beside its joints, where all of them give way
_GIVES_WAY = (1e-2, 1e-2, 1e-4)


class ArmGrip(NamedTuple):
    """One arm, its grip on the object, and the points of both."""

    contact: Contact
    arm: Module
    tip: str  #: point of the arm
    held: str  #: point of the object

    @property
    def has_moment(self) -> bool:
        """Whether the grip transmits a moment."""
        return _GRIPS[self.arm.dimension][self.contact.kind]

    @property
    def rows(self) -> list[int]:
        """Rows of a spatial twist that the grip constrains."""
        linear, angular = _ROWS[self.arm.dimension]
        return [*linear, *angular] if self.has_moment else linear

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components of its wrench."""
        force, moment = AXES[self.arm.dimension]
        return (*force, *moment) if self.has_moment else force


def carried_object(bed: Testbed, name: str | None) -> Module:
    """The object: the one named, or the only one that the controller knows."""
    known = [module.name for module in bed.known.modules if module not in bed.controlled]
    if name is None and len(known) == 1:
        return bed.module(known[0])
    if name is None:
        raise InputError.missing("object", f"the name of a known object ({', '.join(known) or 'there is none'})")
    if name not in known:
        raise InputError("the controller knows no such object", key="object", value=name, expected=one_of(name, known))
    return bed.module(name)


def arm_grips(bed: Testbed, carried: Module, *, may_float: bool = False) -> tuple[ArmGrip, ...]:
    """The grips on an object, in the order of the arms; each arm must have one, and follow from the object's motion.

    Arms `may_float`: vehicles then have one grip or several.
    """
    if carried.base != "floating":
        raise InputError("it does not float", key="object", value=carried.name, expected="one that does")
    if joints(carried) or amplitudes(carried):
        raise InputError("it has joints or modes", key="object", value=carried.name, expected="one rigid body")
    all_grips = []
    for arm in bed.controlled:
        own = [c for c in bed.contacts if {c.first.module, c.second.module} == {arm.name, carried.name}]
        floats = may_float and arm.base == "floating"
        if not own or (len(own) > 1 and not floats):
            problem = f"arm '{arm.name}' has {len(own)} contacts with it"
            raise InputError(problem, key="object", value=carried.name, expected="one grip of each controlled module")
        grips = [_grip(arm, contact) for contact in own]
        if floats:
            _refuse_vehicle(bed, arm, grips, carried)
        else:
            n, needed = len(joints(arm)) if arm.base == "fixed" else 0, len(grips[0].rows)
            if n != needed:
                problem = f"arm '{arm.name}' has {n} joints on a fixed base, but its grip '{own[0].name}' constrains"
                raise InputError(f"{problem} {needed}", key="object", value=carried.name, expected="as many of each")
        all_grips += grips
    _refuse_loose(carried, all_grips)
    return tuple(all_grips)


def _grip(arm: Module, contact: Contact) -> ArmGrip:
    kinds = _GRIPS[arm.dimension]
    if contact.kind not in kinds:
        expected = one_of(contact.kind, kinds)
        raise InputError(f"grip '{contact.name}' is of kind {contact.kind}", key="object", expected=expected)
    mine, other = contact.first, contact.second
    if mine.module != arm.name:
        mine, other = other, mine
    return ArmGrip(contact, arm, str(mine.point), str(other.point))


def _refuse_vehicle(bed: Testbed, arm: Module, grips: list[ArmGrip], carried: Module) -> None:
    """Refuse a base that its thrusters can't move in all directions, and joints that nothing would lead."""
    if arm.dimension != "planar" or amplitudes(arm):
        problem = f"'{arm.name}' floats and is {'flexible' if amplitudes(arm) else 'spatial'}"
        raise InputError(problem, key="object", value=carried.name, expected="rigid links in a plane")
    lacking = base_reach(bed, arm).missing()
    if lacking:
        problem = f"the thrusters of '{arm.name}' give no {', '.join(lacking)}"
        raise InputError(problem, key="object", value=carried.name, expected="thrust in every direction of its base")
    driven = {motor.joint for motor in bed.motors}
    free = [joint.name for joint in arm.joints if bed.layout.name(arm, joint.name) not in driven]
    if free:
        problem = f"joint '{free[0]}' of '{arm.name}' has no motor"
        raise InputError(problem, key="object", value=carried.name, expected="a motor on every joint")
    rows = sum(len(grip.rows) for grip in grips)
    if len(joints(arm)) > rows:
        problem = f"'{arm.name}' has {len(joints(arm))} joints, but its grips constrain {rows}"
        raise InputError(problem, key="object", value=carried.name, expected="as many of each, or fewer joints")


def _refuse_loose(carried: Module, grips: list[ArmGrip]) -> None:
    """Refuse a grasp that can't be held: grips whose wrenches do not move the object in every direction."""
    n = 2 if carried.dimension == "planar" else 3
    rows = []
    for grip in grips:
        x, y, z = spatial(next(point for point in carried.points if point.name == grip.held).position_m)
        turn = np.array([[-y], [x]]) if n == 2 else np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])
        rows.append(np.hstack([np.eye(n), turn]))
        if grip.has_moment:
            m = turn.shape[1]
            rows.append(np.hstack([np.zeros((m, n)), np.eye(m)]))
    if grips and np.linalg.matrix_rank(np.vstack(rows), tol=1e-9) < (3 if n == 2 else 6):
        names = ", ".join(grip.contact.name for grip in grips)
        problem = f"{names} can't hold it: there is a direction in which they give it no wrench"
        raise InputError(problem, key="object", value=carried.name, expected="grips at several points, or rigid ones")


def vehicles(bed: Testbed, grips: tuple[ArmGrip, ...]) -> tuple[Module, ...]:
    """The floating ones among the arms, in the order of their wrenches."""
    return tuple(
        m for m in bed.known.modules if m.base == "floating" and any(grip.arm.name == m.name for grip in grips)
    )


def base_reach(bed: Testbed, vehicle: Module) -> Reach:
    """The wrenches that the thrusters of a vehicle can produce."""
    for device in bed.devices_of(Thrusters).values():
        if device.pushed(bed).name == vehicle.name:
            return reach(thruster_matrix(device, "planar"), available_thrust(device))
    return reach(np.zeros((3, 0)), np.zeros(0))


def grasp_shape(bed: Testbed, grips: tuple[ArmGrip, ...], stiffness: Array) -> GraspShape:
    """What does not change from tick to tick; the joints are the motors in their order."""
    limits = np.array([motor.torque_limit_n_m for motor in bed.motors])
    linear, _ = _ROWS[grips[0].arm.dimension]
    return GraspShape(
        tuple(Grip(grip.contact.name, len(linear), len(grip.rows) - len(linear)) for grip in grips),
        tuple(motor.joint for motor in bed.motors), limits, stiffness, bed.loop.period_s,
        tuple(VehicleBase(vehicle.name, *base_reach(bed, vehicle)) for vehicle in vehicles(bed, grips)),
    )  # fmt: skip


class GraspSymbols(NamedTuple):
    """A grasp in symbols, and what goes with it; matrices of the grasp are transposed.

    CasADi stores matrices by columns and NumPy by rows.
    """

    matrix: ca.SX  #: A1^T
    load: ca.SX  #: b1
    free_torque: ca.SX  #: tau'
    torque_map: ca.SX  #: J1
    positions: ca.SX
    axes: ca.SX
    acceleration: ca.SX  #: of all modules; of modes zero
    # Of arms with flexible links whose modes are not quasi-static
    free_elastic: ca.SX = _NONE  #: q_e0''
    elastic_map: ca.SX = _NONE  #: J3
    elastic: ca.SX = _NONE
    elastic_rate: ca.SX = _NONE
    guided: ca.SX = _NONE
    # Of arms on vehicles
    free_base: ca.SX = _NONE  #: w_b'
    base_map: ca.SX = _NONE  #: J_b


def grasp_in_symbols(
    model: ControlModel,
    carried: Module,
    grips: tuple[ArmGrip, ...],
    acceleration: ca.SX,
    bases: Mapping[str, ca.SX] | None = None,
) -> GraspSymbols:
    """The grasp for an acceleration of the object, and of the bases of vehicles, by name."""
    layout, n_space = model.layout, len(_ROWS[carried.dimension][0])
    own = layout.u[carried.name]
    demanded = ca.SX.zeros(model.n)
    demanded[own] = acceleration
    J_all = ca.SX(sum(len(grip.rows) for grip in grips), model.n)
    moving, where, axes = [], [], []
    at = 0
    for arm in dict.fromkeys(grip.arm.name for grip in grips):
        hands = [grip for grip in grips if grip.arm.name == arm]
        part, turned, wanted = layout.u[arm], [], []
        for grip in hands:
            tip, held, rows = model.point(arm, grip.tip), model.point(carried.name, grip.held), grip.rows
            J_o = held.jacobian[rows, :]
            turned.append(tip.jacobian[rows, :])
            wanted.append(J_o @ acceleration + held.drift[rows] - tip.drift[rows])
            moving.append(J_o)
            where.append(held.position[:n_space])
            axes.append(held.rotation[:n_space, :n_space] @ ca.DM(inward_axes(carried, grip.held, n_space)))
        J, rhs, n = ca.vertcat(*turned), ca.vertcat(*wanted), len(joints(hands[0].arm))
        if bases is not None and arm in bases:
            demanded[part] = vehicle_accelerations(J, rhs, bases[arm])
        else:
            demanded[part.start : part.start + n] = ca.solve(J[:, :n], rhs)
        J_all[at : at + J.shape[0], part] = J
        at += J.shape[0]
    force = model.inverse(demanded)
    floating = vehicles(model.bed, grips) if bases is not None else ()
    return GraspSymbols(
        ca.vertcat(*moving), force[own],
        model.motor_torque(force[model.driven]), model.motor_torque(J_all[:, model.driven].T).T,
        ca.horzcat(*where), ca.horzcat(*axes), demanded,
        free_base=ca.vertcat(_NONE, *(_on_base(model, one, force) for one in floating)),
        base_map=ca.vertcat(ca.SX(0, at), *(_on_base(model, one, J_all.T) for one in floating)).T,
    )  # fmt: skip


def reference_rates(model: ControlModel, carried: Module, grips: tuple[ArmGrip, ...], u_ref: ca.SX) -> ca.SX:
    """The rates of all coordinates that go with those of the object and the bases of vehicles."""
    rates, layout = ca.SX(u_ref), model.layout
    for vehicle in vehicles(model.bed, grips):
        hands = [grip for grip in grips if grip.arm.name == vehicle.name]
        J = ca.vertcat(*(model.point(vehicle.name, grip.tip).jacobian[grip.rows, :] for grip in hands))
        J_o = ca.vertcat(*(model.point(carried.name, grip.held).jacobian[grip.rows, :] for grip in hands))
        base = u_ref[layout.root_u(vehicle)]
        rates[layout.u[vehicle.name]] = vehicle_accelerations(J, J_o @ u_ref[layout.u[carried.name]], base)
    return rates


def vehicle_accelerations(J: ca.SX, rhs: ca.SX, base: ca.SX) -> ca.SX:
    """Accelerations or rates v of a vehicle whose hands obey J v = rhs, with those that its base shall have."""
    n = base.numel()
    n_joints = J.shape[1] - n
    if n_joints == J.shape[0]:
        return ca.vertcat(base, ca.solve(J[:, n:], rhs - J[:, :n] @ base))
    W = ca.diag(ca.DM([*_GIVES_WAY, *[1.0] * n_joints]))
    demanded = ca.vertcat(base, ca.SX.zeros(n_joints))
    return demanded + W @ J.T @ ca.solve(J @ W @ J.T, rhs - J @ demanded)


def _on_base(model: ControlModel, vehicle: Module, forces: ca.SX) -> ca.SX:
    """The part of generalised forces, as columns, on the base of a vehicle, in its axes."""
    tree, own = model.trees[vehicle.name], forces[model.layout.u[vehicle.name], :]
    return ca.horzcat(*(wrench_on_root(tree, own[:, i]) for i in range(own.shape[1])))


def inward_axes(carried: Module, held: str, n_space: int) -> Array:
    """Axes of a grip as columns, in those of the object: the first from the grip to the origin, the others across."""
    point = next(point for point in carried.points if point.name == held)
    inward = -np.array(spatial(point.position_m))[:n_space]
    length = np.linalg.norm(inward)
    inward = inward / length if length > 0 else np.eye(n_space)[0]
    if n_space == 2:
        return np.column_stack([inward, [-inward[1], inward[0]]])
    across = np.cross(inward, np.eye(3)[np.argmin(np.abs(inward))])
    across /= np.linalg.norm(across)
    return np.column_stack([inward, across, np.cross(inward, across)])
