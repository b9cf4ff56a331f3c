"""An object that several arms hold, from a testbed: which grips, and the grasp of a tick in symbols.

Each arm has as many joints as its grip has constrained directions, so that the motion of the object fixes that of all
joints, whatever the elastic coordinates q_e of its flexible links do (those of a rigid arm are none):

    J_r q_r'' + J_e q_e'' + J' u = J_o a + J_o' u_o     the tip of an arm moves with its point of the object
    M_rr q_r'' + M_re q_e'' + h_r = tau - J_r^T w       w on the object                             (Sun 2.38)
    M_re^T q_r'' + M_ee q_e'' + h_e = -J_e^T w          h with stiffness and damping                (Sun 2.39)
    sum_i J_oi^T w_i = M_o a + h_o

so that torques and elastic accelerations are affine in w (Sun 3.52 to 3.55; `distribution/flexible_arm.py` in numbers).
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.base import spatial
from granite.config.contacts import Contact
from granite.config.coordinates import amplitudes, joints
from granite.config.errors import InputError, one_of
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.distribution.grasp import GraspShape, Grip
from granite.controllers.model import ControlModel

#: contact kinds that can be a grip, by dimension, and whether they transmit a moment
_GRIPS = {
    "planar": {"revolute": False, "rigid_grasp": True},
    "spatial": {"spherical": False, "rigid_grasp": True},
}
#: rows of a twist in world axes: forces, then moments
_ROWS = {"planar": ([0, 1], [5]), "spatial": ([0, 1, 2], [3, 4, 5])}
#: names of the components of a wrench in the log
AXES = {"planar": (("fx", "fy"), ("mz",)), "spatial": (("fx", "fy", "fz"), ("mx", "my", "mz"))}


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


def arm_grips(bed: Testbed, carried: Module) -> tuple[ArmGrip, ...]:
    """The grips on an object, in the order of the arms; each arm must have one, and follow from the object's motion."""
    if carried.base != "floating":
        raise InputError("it does not float", key="object", value=carried.name, expected="one that does")
    if joints(carried) or amplitudes(carried):
        raise InputError("it has joints or modes", key="object", value=carried.name, expected="one rigid body")
    found = []
    for arm in bed.controlled:
        own = [c for c in bed.contacts if {c.first.module, c.second.module} == {arm.name, carried.name}]
        if len(own) != 1:
            problem = f"arm '{arm.name}' has {len(own)} contacts with it"
            raise InputError(problem, key="object", value=carried.name, expected="one grip of each controlled module")
        (contact,) = own
        kinds = _GRIPS[arm.dimension]
        if contact.kind not in kinds:
            expected = one_of(contact.kind, kinds)
            raise InputError(f"grip '{contact.name}' is of kind {contact.kind}", key="object", expected=expected)
        mine, other = contact.first, contact.second
        if mine.module != arm.name:
            mine, other = other, mine
        grip = ArmGrip(contact, arm, str(mine.point), str(other.point))
        n, needed = len(joints(arm)) if arm.base == "fixed" else 0, len(grip.rows)
        if n != needed:
            problem = f"arm '{arm.name}' has {n} joints on a fixed base, but its grip '{contact.name}' constrains"
            raise InputError(f"{problem} {needed}", key="object", value=carried.name, expected="as many of each")
        found.append(grip)
    return tuple(found)


def grasp_shape(model: ControlModel, grips: tuple[ArmGrip, ...]) -> GraspShape:
    """What does not change from tick to tick; the joints are the motors in their order."""
    bed = model.bed
    limits = np.array([motor.torque_limit_n_m for motor in bed.motors])
    linear, _ = _ROWS[grips[0].arm.dimension]
    return GraspShape(
        tuple(Grip(grip.contact.name, len(linear), len(grip.rows) - len(linear)) for grip in grips),
        tuple(motor.joint for motor in bed.motors), limits, _stiffness(model, grips), bed.loop.period_s,
    )  # fmt: skip


class GraspSymbols(NamedTuple):
    """A grasp in symbols, and what goes with it; matrices of the grasp are transposed.

    CasADi stores matrices by columns and NumPy by rows.
    """

    matrix: ca.SX  #: A1^T
    load: ca.SX  #: b1
    free_torque: ca.SX  #: tau'
    torque_map: ca.SX  #: J1
    free_elastic: ca.SX  #: q_e0''
    elastic_map: ca.SX  #: J3
    elastic: ca.SX  #: q_e
    elastic_rate: ca.SX  #: q_e'
    positions: ca.SX
    axes: ca.SX
    acceleration: ca.SX  #: of all modules without wrenches, motors and elastic coordinates included
    acceleration_map: ca.SX  #: (n_u x n_w) what the wrenches add to it: elastic coordinates, and joints that follow


def grasp_in_symbols(
    model: ControlModel, carried: Module, grips: tuple[ArmGrip, ...], acceleration: ca.SX
) -> GraspSymbols:
    """The grasp for an acceleration of the object."""
    layout, n_w = model.layout, sum(len(grip.rows) for grip in grips)
    own, n_space = layout.u[carried.name], len(_ROWS[carried.dimension][0])
    demanded, added = ca.SX.zeros(model.n), ca.SX(model.n, n_w)
    demanded[own] = acceleration
    moving, maps, elastic_maps, bent, bending, where, axes, driven = [], [], [], [], [], [], [], []
    at = 0
    for grip in grips:
        places, n, rows = _indices(layout.u[grip.arm.name]), len(joints(grip.arm)), grip.rows
        r, e, part = places[:n], places[n:], slice(at, at + len(rows))
        tip, held = model.point(grip.arm.name, grip.tip), model.point(carried.name, grip.held)
        J_r, J_e, J_o = tip.jacobian[rows, :n], tip.jacobian[rows, n:], held.jacobian[rows, :]
        direct = ca.solve(J_r, J_o @ acceleration + held.drift[rows] - tip.drift[rows])
        demanded[r], torque_map = direct, J_r.T
        if e:
            M, share = model.mass_matrix, ca.solve(J_r, J_e)
            hat_re, hat_ee = M[r, e] - M[r, r] @ share, M[e, e] - M[r, e].T @ share  # Sun (3.55)
            elastic = ca.solve(hat_ee, -model.bias[e] - M[r, e].T @ direct)
            J3T = -ca.solve(hat_ee, J_e.T)
            demanded[r], demanded[e] = direct - share @ elastic, elastic
            torque_map += hat_re @ J3T
            added[r, part], added[e, part] = -share @ J3T, J3T
            elastic_maps.append(J3T)
        else:
            elastic_maps.append(ca.SX(0, len(rows)))
        at += len(rows)
        moving.append(J_o)
        maps.append(torque_map)
        bent.append(model.q[layout.q[grip.arm.name]][n:])
        bending += e
        driven += r
        where.append(held.position[:n_space])
        axes.append(held.rotation[:n_space, :n_space] @ ca.DM(_inward_axes(carried, grip.held, n_space)))
    force = model.inverse(demanded)
    order = [driven.index(place) for place in model.driven]  # rows of the motors, wherever their joints stand
    return GraspSymbols(
        ca.vertcat(*moving), force[own], force[model.driven], ca.diagcat(*maps)[order, :].T,
        demanded[bending], ca.diagcat(*elastic_maps).T, ca.vertcat(*bent), model.u[bending],
        ca.horzcat(*where), ca.horzcat(*axes), demanded, added,
    )  # fmt: skip


def _inward_axes(carried: Module, held: str, n_space: int) -> Array:
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


def _stiffness(model: ControlModel, grips: tuple[ArmGrip, ...]) -> Array:
    """K of the elastic coordinates of all arms."""
    blocks = [model.stiffness(grip.arm.name)[len(joints(grip.arm)) :, len(joints(grip.arm)) :] for grip in grips]
    n = sum(len(block) for block in blocks)
    found, at = np.zeros((n, n)), 0
    for block in blocks:
        found[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return found


def _indices(part: slice) -> list[int]:
    return list(range(part.start, part.stop))
