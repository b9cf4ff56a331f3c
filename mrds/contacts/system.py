"""Modules joined by contacts: one set of compiled functions per contact set.

The modular level eliminates every module by itself (`mrds.contacts.operational`); the global level solves for the
forces of the closed contacts (`mrds.contacts.global_level`); back at the modular level, back-substitution gives the
accelerations. To close or open a contact is to use another set: a table look-up, never a compilation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from granite.config.contacts import Contact, Side
from granite.config.coordinates import positions, velocities
from granite.config.errors import InputError, one_of
from granite.config.modules import Module
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.compliance import check_compliance
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.drive import check_drive
from granite.mrds.contacts.friction import check_friction, has_friction


class System:
    """All modules and all contacts of a testbed.

    Parameters
    ----------
    modules, contacts
        As configured, each with a name of its own.

    Raises
    ------
    InputError
        Where a name is there twice, a contact names no module, point or kind that exists, or its parameters, motion or
        force do not belong to its kind.

    Examples
    --------
    >>> closed = System(bed.modules, bed.contacts).contact_set()
    >>> acceleration, force, independence, status = closed.accelerate(q, u, applied)
    """

    def __init__(self, modules: Sequence[Module], contacts: Sequence[Contact] = ()) -> None:
        self.modules = {module.name: module for module in modules}
        self.contacts = {contact.name: contact for contact in contacts}
        self.planar = all(module.dimension == "planar" for module in modules)
        _check(self.modules, self.contacts, len(modules), len(contacts))
        for contact in contacts:
            check_compliance(contact, self.modules, self.planar)
            check_drive(contact, self.planar)
        if self.planar:
            _check_plane(self.modules, self.contacts)
        self.n_q = sum(len(positions(m)) for m in modules)
        self.n_u = sum(len(velocities(m)) for m in modules)

    def contact_set(self, closed: Iterable[str] | None = None, slipping: Iterable[str] = ()) -> ContactSet:
        """The system with some contacts closed.

        Parameters
        ----------
        closed
            Names of the closed contacts; all contacts if not given.
        slipping
            Names of closed contacts with friction that slip; the others stick.

        Returns
        -------
        ContactSet
            Compiled at first use.

        Raises
        ------
        InputError
            Where there is no contact of a name, or one that slips has no friction.
        """
        names = list(self.contacts if closed is None else closed)
        slips = frozenset(slipping)
        for name in names:
            if name not in self.contacts:
                raise InputError(f"contact set names '{name}'", expected=one_of(name, self.contacts))
        able = [name for name in names if has_friction(self.contacts[name])]
        for name in sorted(slips):
            if name not in able:
                raise InputError(f"contact set lets '{name}' slip", expected=one_of(name, able))
        return ContactSet(self.modules, tuple(self.contacts[name] for name in names), self.planar, slips)


def _check(modules: dict[str, Module], contacts: dict[str, Contact], n_modules: int, n_contacts: int) -> None:
    if len(modules) < n_modules or len(contacts) < n_contacts:
        raise InputError("a name is there twice", key="modules and contacts", expected="different ones")
    for contact in contacts.values():
        try:
            kind = kind_of(contact.kind)
        except InputError as refusal:
            raise refusal.within(f"contacts.{contact.name}") from None
        kind.check(contact.name, contact.parameters)
        check_friction(contact)
        if contact.first.grounded and contact.second.grounded:
            key = f"contacts.{contact.name}"
            expected = "a module on one side"
            raise InputError("joins the ground to itself", key=key, expected=expected)
        if contact.first == contact.second:
            raise InputError("joins a point to itself", key=f"contacts.{contact.name}", expected="another one")
        for key, side in (("first", contact.first), ("second", contact.second)):
            _check_side(f"contacts.{contact.name}.{key}", side, modules)


def _check_side(where: str, side: Side, modules: dict[str, Module]) -> None:
    if side.grounded:
        return
    if side.module not in modules:
        names = one_of(side.module, [*modules, "ground"])
        raise InputError(key=f"{where}.module", value=side.module, expected=names)
    points = [p.name for p in modules[side.module].points]
    if side.point not in points:
        raise InputError(key=f"{where}.point", value=side.point, expected=one_of(str(side.point), points))


def _check_plane(modules: dict[str, Module], contacts: dict[str, Contact]) -> None:
    """Refuse axes that are not normal to the plane: their contacts would silently constrain other directions."""
    for contact in contacts.values():
        for key, side in (("first", contact.first), ("second", contact.second)):
            where = f"contacts.{contact.name}.{key}"
            turned, position = side.rotation_rad, side.position_m
            if not side.grounded:
                point = next(p for p in modules[side.module].points if p.name == side.point)
                turned, position = point.rotation_rad, point.position_m
            if turned[:2] != (0.0, 0.0):
                expected = "[0, 0, yaw] in the plane"
                raise InputError(key=f"{where}.rotation_rad", value=list(turned), expected=expected)
            if len(position) > 2 and position[2] != 0:
                raise InputError(key=f"{where}.position_m", value=list(position), expected="z = 0 in the plane")
