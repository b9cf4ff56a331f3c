"""An object that several arms hold, from a testbed: which grips, and the grasp of a tick in symbols.

Each arm has as many joints as its grip has constrained directions, so that the motion of the object fixes that of all
joints:

    J_i q_i'' + J_i' u_i = J_oi a + J_oi' u_o           the tip of arm i moves with its point of the object
    tau_i = M_i q_i'' + h_i + J_i^T w_i                 w_i on the object
    sum_i J_oi^T w_i = M_o a + h_o
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.contacts import Contact
from granite.config.coordinates import velocities
from granite.config.errors import InputError, one_of
from granite.config.modules import Module
from granite.config.testbed import Testbed
from granite.controllers.distribution.grasp import GraspShape, Grip
from granite.controllers.model import ControlModel

#: contact kinds that can be a grip, and whether they transmit a moment
_GRIPS = {"revolute": False, "rigid_grasp": True}
#: rows of a planar twist in a spatial one
_PLANAR = [0, 1, 5]


class ArmGrip(NamedTuple):
    """One arm, its grip on the object, and the points of both."""

    contact: Contact
    arm: Module
    tip: str  #: point of the arm
    held: str  #: point of the object

    @property
    def has_moment(self) -> bool:
        """Whether the grip transmits a moment."""
        return _GRIPS[self.contact.kind]


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
    if carried.dimension != "planar" or carried.base != "floating":
        raise InputError("it does not float in a plane", key="object", value=carried.name, expected="one that does")
    if len(velocities(carried)) != 3:
        raise InputError("it has joints or modes", key="object", value=carried.name, expected="one rigid body")
    found = []
    for arm in bed.controlled:
        own = [c for c in bed.contacts if {c.first.module, c.second.module} == {arm.name, carried.name}]
        if len(own) != 1:
            problem = f"arm '{arm.name}' has {len(own)} contacts with it"
            raise InputError(problem, key="object", value=carried.name, expected="one grip of each controlled module")
        (contact,) = own
        if contact.kind not in _GRIPS:
            expected = one_of(contact.kind, _GRIPS)
            raise InputError(f"grip '{contact.name}' is of kind {contact.kind}", key="object", expected=expected)
        mine, other = contact.first, contact.second
        if mine.module != arm.name:
            mine, other = other, mine
        n, needed = len(velocities(arm)), 3 if _GRIPS[contact.kind] else 2
        if n != needed:
            problem = f"arm '{arm.name}' has {n} velocities, but its grip '{contact.name}' constrains {needed}"
            raise InputError(problem, key="object", value=carried.name, expected="as many of each")
        found.append(ArmGrip(contact, arm, str(mine.point), str(other.point)))
    return tuple(found)


def grasp_shape(bed: Testbed, grips: tuple[ArmGrip, ...]) -> GraspShape:
    """What does not change from tick to tick; the joints are the motors in their order."""
    limits = np.array([motor.torque_limit_n_m for motor in bed.motors])
    return GraspShape(
        tuple(Grip(grip.contact.name, 2, int(grip.has_moment)) for grip in grips),
        tuple(motor.joint for motor in bed.motors), limits, np.zeros((0, 0)), bed.loop.period_s,
    )  # fmt: skip


def grasp_in_symbols(
    model: ControlModel, carried: Module, grips: tuple[ArmGrip, ...], acceleration: ca.SX
) -> tuple[ca.SX, list[ca.SX]]:
    """Accelerations of all modules for that of the object, and the grasp: A1^T, b1, tau', J1, positions, axes.

    Matrices are transposed, because CasADi stores them by columns and NumPy by rows.
    """
    own = model.layout.u[carried.name]
    demanded, moving, turned, where, axes = ca.SX.zeros(model.n), [], [], [], []
    demanded[own] = acceleration
    centre = model.q[model.layout.q[carried.name]][:2]
    for grip in grips:
        rows = _PLANAR if grip.has_moment else _PLANAR[:2]
        tip, held = model.point(grip.arm.name, grip.tip), model.point(carried.name, grip.held)
        J, J_o = tip.jacobian[rows, :], held.jacobian[rows, :]
        demanded[model.layout.u[grip.arm.name]] = ca.solve(J, J_o @ acceleration + held.drift[rows] - tip.drift[rows])
        moving.append(J_o)
        turned.append(J)
        position = held.position[:2]
        inward = (centre - position) / ca.norm_2(centre - position)
        where.append(position)
        axes.append(ca.horzcat(inward, ca.vertcat(-inward[1], inward[0])))
    force = model.inverse(demanded)
    # The rows of J1^T are those of the motors, wherever their joints stand.
    joints = [i for grip in grips for i in range(*model.layout.u[grip.arm.name].indices(model.n))]
    order = [joints.index(place) for place in model.driven]
    J1 = ca.diagcat(*turned)[:, order]
    grasp = [ca.vertcat(*moving), force[own], force[model.driven], J1, ca.horzcat(*where), ca.horzcat(*axes)]
    return demanded, grasp
