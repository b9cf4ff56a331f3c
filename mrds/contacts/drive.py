"""Drive of contacts over time: prescribed motion along constrained modes, forces along free modes.

Bonaventura 2002, section 3.3: x'_c and x''_c are zero or prescribed, F_u is known. The prescribed displacement x_c goes
with them: the gap of such a contact is its error against x_c.
"""

from __future__ import annotations

import math

import casadi as ca

from granite.config.contacts import Contact, Profile
from granite.config.errors import InputError, one_of
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.friction import form
from granite.mrds.contacts.kind import directions_in


def drive_function(contacts: tuple[Contact, ...], planar: bool, slipping: frozenset[str] = frozenset()) -> ca.Function:
    """t -> F_u, x'_c, x''_c, x_c of all contacts, one after the other as in their contact set."""
    t = ca.SX.sym("t")
    free_force, displacement = [ca.SX(0, 1)], [ca.SX(0, 1)]
    for contact in contacts:
        kind = form(contact, contact.name in slipping)
        for names, profiles, into in (
            (kind.free, contact.force.profiles, free_force),
            (kind.held, contact.motion.profiles, displacement),
        ):
            directions = directions_in(names, planar)
            into += [_value(profiles[name], t) if name in profiles else ca.SX(0) for name in directions]
    x_c = ca.densify(ca.vertcat(*displacement))
    velocity = ca.densify(ca.jacobian(x_c, t))
    acceleration = ca.densify(ca.jacobian(velocity, t))
    return ca.Function("drive", [t], [ca.densify(ca.vertcat(*free_force)), velocity, acceleration, x_c])


def check_drive(contact: Contact, planar: bool) -> None:
    """Refuse motion along free modes, force along constrained ones, and rotation unless all rotations are held."""
    kind = kind_of(contact.kind)
    kind = kind.yielding if contact.compliance is not None else kind
    held = directions_in(kind.held, planar)
    free = directions_in(kind.free, planar)
    for key, profiles, able in (("motion", contact.motion.profiles, held), ("force", contact.force.profiles, free)):
        for name in profiles:
            if name not in able:
                expected = f"{one_of(name, able)} of {kind.name}"
                raise InputError(key=f"contacts.{contact.name}.{key}.{name}", expected=expected)
    if contact.motion.profiles and kind.friction_modes:
        expected = f"none of {kind.name}, which may slip"
        raise InputError(key=f"contacts.{contact.name}.motion", expected=expected)
    turned = next((name for name in contact.motion.profiles if name.startswith("r")), None)
    if turned and any(name.startswith("r") for name in free):
        expected = f"a kind that holds every rotation, not {kind.name}"
        raise InputError(key=f"contacts.{contact.name}.motion.{turned}", expected=expected)


def _value(profile: Profile, t: ca.SX) -> ca.SX:
    amplitude, offset, speed = profile.terms
    swing = amplitude * ca.sin(2 * math.pi / profile.period_s * t + profile.phase_rad) if profile.period_s else 0
    return swing + offset + speed * t
