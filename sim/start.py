"""Where the plant starts: as configured, if the contacts that are closed then allow it."""

from __future__ import annotations

import numpy as np

from config.errors import InputError
from config.records import Array
from config.testbed import Testbed
from mrds.contacts.contact_set import ContactSet
from mrds.contacts.possible import refuse_impossible
from mrds.modes import stability_limit
from mrds.system import System

#: gaps and slips up to these are what a person rounds away when typing a pose [m, rad], [m/s, rad/s]
ROUNDED = 1e-6


def fitting_start(bed: Testbed, contacts: ContactSet | None, q: Array, u: Array) -> tuple[Array, Array]:
    """q and u at the start; `InputError` where they do not fit, unless they are to be moved where they do."""
    if contacts is None or not contacts.contacts:
        return q, u
    worst, size, unit = _worst(contacts, q, u)
    if size > ROUNDED and not bed.simulation.fit_start:
        raise InputError(
            f"{bed.name}: simulation.initial leaves contact '{worst}' off by {size:.3g} {unit}, expected a start that "
            "fits it, or simulation.fit_start = true to begin at the nearest one"
        )
    try:
        q = refuse_impossible(contacts, q)
    except InputError as refusal:
        raise InputError(f"{bed.name}: simulation.initial: {refusal}") from None
    drive = contacts.drive(0.0)
    return contacts.project(q, u, drive.velocity, drive.place)


def refuse_unstable_step(bed: Testbed, contacts: ContactSet | None, q: Array) -> None:
    """Raise where the physics step is too long for the fastest mode about the start."""
    if not any(body.flexible for module in bed.modules for body in module.bodies):
        return
    contacts = contacts or System(bed.modules).contact_set()
    complaint = stability_limit(contacts, q).complaint(bed.simulation.physics_step_s)
    if complaint:
        raise InputError(f"{bed.name}: simulation.physics_step_s = {bed.simulation.physics_step_s}: {complaint}")


def _worst(contacts: ContactSet, q: Array, u: Array) -> tuple[str, float, str]:
    """The contact that is off the most, by how much, and in what unit."""
    found, drive = ("", 0.0, ""), contacts.drive(0.0)
    for errors, unit in zip(
        contacts.errors(q, u, drive.velocity, drive.place), ("m or rad", "m/s or rad/s"), strict=True
    ):
        for name, rows in contacts.rows.items():
            size = float(np.abs(errors[rows]).max(initial=0.0))
            if size > found[1]:
                found = (name, size, unit)
    return found
