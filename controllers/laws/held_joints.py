"""Joint angles of arms that hold an object, from the pose of the object: inverse kinematics by Newton steps.

    q <- q + J^-1 (x_held - x_tip)          J u = J_o u_o          one step a tick, from the angles of the tick before

A path moves by less than a millimetre in a tick, so that one step leaves an error of its square.
"""

from __future__ import annotations

import casadi as ca

from granite.config.coordinates import joints
from granite.config.errors import InputError
from granite.config.modules import Module
from granite.controllers.laws.carrying import ArmGrip
from granite.controllers.model import ControlModel


def refuse_moments(grips: tuple[ArmGrip, ...]) -> None:
    """Only pins: orientations of the arms' tips are then free."""
    for grip in grips:
        if grip.has_moment or len(joints(grip.arm)) != len(grip.arm.joints_in_tree_order()):
            raise InputError(f"grip '{grip.contact.name}' is of kind {grip.contact.kind}", expected="a pin")


def joints_of_object(
    model: ControlModel, carried: Module, grips: tuple[ArmGrip, ...], q: ca.SX, u_object: ca.SX
) -> tuple[ca.SX, ca.SX]:
    """Angles one Newton step from those in q, where q has the pose of the object; and rates for its velocity."""
    angles, rates = ca.SX(q), ca.SX.zeros(model.n)
    for grip in grips:
        tip, held = model.point(grip.arm.name, grip.tip), model.point(carried.name, grip.held)
        at = model.layout.q[grip.arm.name]
        J, J_o, miss = (
            tip.jacobian[grip.rows, :],
            held.jacobian[grip.rows, :],
            (held.position - tip.position)[grip.rows],
        )
        J, J_o, miss = ca.substitute([J, J_o, miss], [model.q], [q])
        angles[at] = q[at] + ca.solve(J, miss)
        rates[model.layout.u[grip.arm.name]] = ca.solve(J, J_o @ u_object)
    return angles, rates
