"""Whether contacts can all be closed at once, and whether some of them hold the same thing twice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granite.config.errors import InputError
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.directions import DEPENDENT, Directions
from granite.mrds.contacts.friction import form
from granite.mrds.contacts.kind import known
from granite.mrds.contacts.reachable import named
from granite.mrds.kernel import Array

#: a gap that is smaller is closed [m, rad]
CLOSED = 1e-9
#: a slip that is smaller is none [m/s, rad/s]
SLIPPING = 1e-6


class Redundancy(NamedTuple):
    """What a contact set holds more than once."""

    independence: float  #: 1: all directions at right angles in the metric of the masses; 0: one is a sum of others
    condition: float  #: of the constraints, greatest singular value against least
    contacts: tuple[str, ...]  #: those that share something; how they share its force is a choice (the least norm)
    directions: tuple[str, ...]  #: as `contact.direction`

    @property
    def redundant(self) -> bool:
        """Whether the holding forces are not unique."""
        return self.independence <= DEPENDENT


def redundancy(contact_set: ContactSet, q: ArrayLike) -> Redundancy:
    """What is held more than once at this pose."""
    found = Directions.of(*contact_set.mass_and_constraints(q))
    independence, names = found.independence, _names(contact_set)
    at = [i for i, entangled in enumerate(found.entangled()) if entangled]
    contacts = tuple(dict.fromkeys(names[i].split(".")[0] for i in at))
    condition = 1 / independence if independence > 0 else np.inf
    return Redundancy(independence, condition, contacts, tuple(names[i] for i in at))


def refuse_impossible(contact_set: ContactSet, q: ArrayLike) -> Array:
    """The pose nearest to this one in which all contacts fit; refuses contacts that cannot be closed from here.

    Contacts that are moved are to be where they are at the start.
    """
    still, place = np.zeros(contact_set.n_u), contact_set.drive(0.0).place
    pose, _ = contact_set.project(q, still, place=place)
    gap = contact_set.errors(pose, still, place=place)[0]
    open_rows = np.flatnonzero(np.abs(gap) > CLOSED)
    if len(open_rows) == 0:
        return pose
    names = _names(contact_set)
    worst = int(np.argmax(np.abs(gap)))
    apart = [names[i].split(".")[0] for i in open_rows]
    shared = [name for name in redundancy(contact_set, pose).contacts if name not in apart]
    raise InputError(
        f"contacts {named({*apart, *shared})} cannot all be closed from this pose: {abs(gap[worst]):.3g} "
        f"{_unit(names[worst])} remains along {names[worst]}, expected a pose or contacts that fit"
    )


def refuse_contradiction(contact_set: ContactSet, q: ArrayLike, u: ArrayLike) -> None:
    """Refuses contacts that are moved against each other: velocities that were put right, and still do not fit."""
    drive = contact_set.drive(0.0)
    slip = np.abs(contact_set.errors(q, u, drive.velocity, drive.place)[1])
    if slip.max(initial=0.0) > SLIPPING:
        names, worst = _names(contact_set), int(np.argmax(slip))
        apart = {names[i].split(".")[0] for i in np.flatnonzero(slip > SLIPPING)}
        raise InputError(
            f"contacts {named(apart)} cannot move as they are told: {slip[worst]:.3g} {_unit(names[worst])}/s remains "
            f"along {names[worst]}, expected motions that fit each other"
        )


def _names(contact_set: ContactSet) -> list[str]:
    """Every direction that holds, as `contact.direction`, in the order of the holding forces."""
    names = []
    for contact in contact_set.contacts:
        held = form(contact, contact.name in contact_set.label.slipping).held
        names += [f"{contact.name}.{direction}" for direction in known(held, contact_set.planar)]
    return names


def _unit(name: str) -> str:
    """Of a gap along `contact.direction`."""
    return "rad" if name.split(".")[1].startswith("r") else "m"
