"""Whether the contacts of a set can all be closed, and whether some of their constraints are redundant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granite.config.errors import InputError
from granite.kernels.kernel import Array
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.directions import Directions
from granite.mrds.contacts.friction import form
from granite.mrds.contacts.kind import directions_in
from granite.mrds.contacts.reachable import named
from granite.mrds.tolerances import CLOSED_GAP, CONTRADICTORY_SLIP, DEPENDENT_SINE


class Redundancy(NamedTuple):
    """Redundant constraints of a contact set."""

    independence: float  #: 1: all constraints orthogonal in the metric of the mass matrix; 0: one is a sum of others
    condition: float  #: of the constraints, largest singular value relative to the smallest
    contacts: tuple[str, ...]  #: those with dependent constraints, whose forces are not unique (least norm)
    directions: tuple[str, ...]  #: as `contact.direction`

    @property
    def redundant(self) -> bool:
        """Whether the constraint forces are not unique."""
        return self.independence <= DEPENDENT_SINE


def redundancy(contact_set: ContactSet, q: ArrayLike) -> Redundancy:
    """Redundant constraints at a pose (n_q)."""
    directions = Directions.of(*contact_set.mass_and_constraints(q))
    independence = directions.independence
    names = _names(contact_set)
    at = [i for i, entangled in enumerate(directions.entangled()) if entangled]
    contacts = tuple(dict.fromkeys(names[i].split(".")[0] for i in at))
    condition = 1 / independence if independence > 0 else np.inf
    return Redundancy(independence, condition, contacts, tuple(names[i] for i in at))


def refuse_impossible(contact_set: ContactSet, q: ArrayLike) -> Array:
    """The nearest pose (n_q) that satisfies all contacts; `InputError` where they cannot all be closed from this pose.

    Prescribed displacements are those of the start.
    """
    zero = np.zeros(contact_set.n_u)
    displacement = contact_set.drive(0.0).displacement
    pose, _ = contact_set.project(q, zero, displacement=displacement)
    gap = contact_set.errors(pose, zero, displacement=displacement)[0]
    open_rows = np.flatnonzero(np.abs(gap) > CLOSED_GAP)
    if len(open_rows) == 0:
        return pose
    names = _names(contact_set)
    worst = int(np.argmax(np.abs(gap)))
    apart = [names[i].split(".")[0] for i in open_rows]
    shared = [name for name in redundancy(contact_set, pose).contacts if name not in apart]
    raise InputError(
        f"contacts {named({*apart, *shared})} cannot all be closed from this pose: {abs(gap[worst]):.3g} "
        f"{_unit(names[worst])} remains along {names[worst]}",
        expected="a pose or contacts that fit",
    )


def refuse_contradiction(contact_set: ContactSet, q: ArrayLike, u: ArrayLike) -> None:
    """`InputError` where prescribed motions contradict each other: projected velocities that leave a slip."""
    drive = contact_set.drive(0.0)
    slip = np.abs(contact_set.errors(q, u, drive.velocity, drive.displacement)[1])
    if slip.max(initial=0.0) > CONTRADICTORY_SLIP:
        names, worst = _names(contact_set), int(np.argmax(slip))
        apart = {names[i].split(".")[0] for i in np.flatnonzero(slip > CONTRADICTORY_SLIP)}
        raise InputError(
            f"contacts {named(apart)} cannot follow their motions: {slip[worst]:.3g} {_unit(names[worst])}/s remains "
            f"along {names[worst]}",
            expected="motions that fit each other",
        )


def _names(contact_set: ContactSet) -> list[str]:
    """Every constrained mode, as `contact.direction`, in the order of the constraint forces."""
    names = []
    for contact in contact_set.contacts:
        held = form(contact, contact.name in contact_set.label.slipping).held
        names += [f"{contact.name}.{direction}" for direction in directions_in(held, contact_set.planar)]
    return names


def _unit(name: str) -> str:
    """Of a gap along `contact.direction`."""
    return "rad" if name.split(".")[1].startswith("r") else "m"
