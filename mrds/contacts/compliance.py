"""Contacts with springs and dampers between their sides: along what the kind holds, forces instead of constraints.

With the gap and its rate along the directions that a rigid contact of the kind would hold,

    F_u = -stiffness gap - damping rate

are known forces along free modes. Their dual basis is that of the rigid contact, so a stiff spring tends to its
constraint force.
"""

from __future__ import annotations

import casadi as ca

from granite.config.contacts import GROUND, Contact, Side
from granite.config.errors import InputError
from granite.config.modules import Body, Module
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.kind import directions_in
from granite.mrds.contacts.kinematics import ContactKinematics


def elastic_force(contact: Contact, kinematics: ContactKinematics, planar: bool) -> ca.SX:
    """Forces of its springs and dampers along all free modes [N, N m]: those that they hold come first."""
    force = ca.SX(kinematics.n_free, 1)
    if contact.compliance is not None:
        stiffness, damping = contact.compliance.along(directions_in(kind_of(contact.kind).held, planar))
        n = len(stiffness)
        force[:n] = -ca.SX(stiffness) * kinematics.stretch - ca.SX(damping) * kinematics.free_velocity[:n]
    return force


def check_compliance(contact: Contact, modules: dict[str, Module], planar: bool) -> None:
    """Refuse springs along what a kind does not hold or what slips, that do nothing, and between parts of one body."""
    springs = contact.compliance
    if springs is None:
        return
    kind, key = kind_of(contact.kind), f"contacts.{contact.name}.compliance"
    if kind.one_sided or kind.holonomic is not None:
        raise InputError(key=key, expected=f"none of {kind.name}, which rolls, slips or opens by itself")
    if contact.motion.profiles:
        raise InputError(key=key, expected="none where the contact has a prescribed motion")
    held = directions_in(kind.held, planar)
    for given, turn in (
        ("stiffness_n_m", False), ("damping_n_s_m", False), ("stiffness_n_m_rad", True), ("damping_n_m_s_rad", True),
    ):  # fmt: skip
        if (value := getattr(springs, given)) and not any(name.startswith("r") == turn for name in held):
            expected = f"none, because {kind.name} holds no {'rotation' if turn else 'translation'}"
            raise InputError(key=f"{key}.{given}", value=value, expected=expected)
    if not any(map(any, springs.along(held))):
        raise InputError("it does nothing", key=key, expected="a stiffness or damping greater than 0")
    first, second = (_carrier(side, modules) for side in (contact.first, contact.second))
    if first == second:
        where = "on the ground" if first == GROUND else f"on {first}"
        raise InputError(f"both sides are {where}", key=key, expected="sides that move against each other")


def _carrier(side: Side, modules: dict[str, Module]) -> str:
    """What carries a side: the ground, or a body; sections of a flexible link each by themselves."""
    if side.grounded:
        return GROUND
    module = modules[side.module]
    point = next(point for point in module.points if point.name == side.point)
    body: Body = next(body for body in module.bodies if body.name == point.body)
    if body.flexible:
        return f"{module.name} {body.name} {point.name}"
    return GROUND if module.base == "fixed" and body is module.root else f"{module.name} {body.name}"
