"""An object that several arms hold, from a testbed: which grips, and the grasp of a tick in symbols.

Each arm has as many joints as its grip has constrained directions, so that the motion of the object fixes that of all
joints:

    J_i q_i'' + J_i' u_i = J_oi a + J_oi' u_o           the tip of arm i moves with its point of the object
    tau_i = M_i q_i'' + h_i + J_i^T w_i                 w_i on the object
    sum_i J_oi^T w_i = M_o a + h_o

Flexible links are bent as the state has them, but q'' of their modes is zero (quasi-static), unless the law asks for
inverse dynamics of the modes too (`flexible_grasp.py`), which is unstable inside where the wrenches do not answer to
the modes (Sun, chapter 6).
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


_NONE = ca.SX(0, 1)


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


def grasp_shape(bed: Testbed, grips: tuple[ArmGrip, ...], stiffness: Array) -> GraspShape:
    """What does not change from tick to tick; the joints are the motors in their order."""
    limits = np.array([motor.torque_limit_n_m for motor in bed.motors])
    linear, _ = _ROWS[grips[0].arm.dimension]
    return GraspShape(
        tuple(Grip(grip.contact.name, len(linear), len(grip.rows) - len(linear)) for grip in grips),
        tuple(motor.joint for motor in bed.motors), limits, stiffness, bed.loop.period_s,
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


def grasp_in_symbols(
    model: ControlModel, carried: Module, grips: tuple[ArmGrip, ...], acceleration: ca.SX
) -> GraspSymbols:
    """The grasp for an acceleration of the object."""
    layout = model.layout
    own, n_space = layout.u[carried.name], len(_ROWS[carried.dimension][0])
    demanded = ca.SX.zeros(model.n)
    demanded[own] = acceleration
    moving, turned, where, axes = [], [], [], []
    driven: list[int] = []
    for grip in grips:
        n, rows = len(joints(grip.arm)), grip.rows
        first = layout.u[grip.arm.name].start
        tip, held = model.point(grip.arm.name, grip.tip), model.point(carried.name, grip.held)
        J, J_o = tip.jacobian[rows, :n], held.jacobian[rows, :]
        demanded[first : first + n] = ca.solve(J, J_o @ acceleration + held.drift[rows] - tip.drift[rows])
        moving.append(J_o)
        turned.append(J)
        driven += range(first, first + n)
        where.append(held.position[:n_space])
        axes.append(held.rotation[:n_space, :n_space] @ ca.DM(inward_axes(carried, grip.held, n_space)))
    force = model.inverse(demanded)
    order = [driven.index(place) for place in model.driven]  # rows of the motors, wherever their joints stand
    return GraspSymbols(
        ca.vertcat(*moving), force[own], force[model.driven], ca.diagcat(*turned)[:, order],
        ca.horzcat(*where), ca.horzcat(*axes), demanded,
    )  # fmt: skip


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
