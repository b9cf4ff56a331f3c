"""Where the plant starts: as configured, if the contacts that are closed then allow it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite.config.coordinates import amplitudes, positions
from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.possible import refuse_contradiction, refuse_impossible
from granite.mrds.contacts.reachable import named
from granite.mrds.flexible.integrals import at_section
from granite.mrds.modes import stability_limit
from granite.mrds.system import System

#: gaps and slips up to these are what a person rounds away when typing a pose [m, rad], [m/s, rad/s]
ROUNDED = 1e-6
#: of the length of a link: what is bent farther is no beam any more
OVERBENT = 0.3


def fitting_start(bed: Testbed, contacts: ContactSet | None, q: Array, u: Array) -> tuple[Array, Array]:
    """q and u at the start; `InputError` where they do not fit, unless they are to be moved where they do."""
    if contacts is None or not contacts.contacts:
        return q, u
    worst, size, unit = _worst(contacts, q, u)
    drive = contacts.drive(0.0)
    try:
        pose = refuse_impossible(contacts, q)
        q_start, u_start = contacts.project(pose, u, drive.velocity, drive.place)
        refuse_contradiction(contacts, q_start, u_start)
    except InputError as refusal:
        raise InputError(f"{bed.name}: simulation.initial: {refusal}") from None
    if size > ROUNDED and not bed.simulation.fit_start:
        raise InputError(
            f"{bed.name}: simulation.initial leaves contact '{worst}' off by {size:.3g} {unit}, expected a start that "
            "fits it, or simulation.fit_start = true to begin at the nearest one"
        )
    _refuse_overbent(bed, q_start)
    return q_start, u_start


def refuse_entered(bed: Testbed, entered: dict[str, float]) -> None:
    """Raise where a body begins inside a stop, by so much [m]: the first step would throw it out."""
    deep = {name: depth for name, depth in entered.items() if depth > ROUNDED}
    if deep:
        name = max(deep, key=lambda stop: deep[stop])
        raise InputError(
            f"{bed.name}: simulation.initial begins {deep[name]:.3g} m inside contact '{name}', expected a start "
            "on its free side"
        )


def refuse_unstable_step(bed: Testbed, sets: Sequence[ContactSet], q: Array) -> None:
    """Raise where the physics step is too long for the fastest mode about the start, under any set that fits there.

    Letting go makes a link faster: what is stable at the start need not be after it. A set that does not fit the start
    cannot be looked at before the run; there a step that is too long ends it.
    """
    if not any(body.flexible for module in bed.modules for body in module.bodies):
        return
    for contacts in sets or (System(bed.modules).contact_set(),):
        gap, _ = contacts.errors(q, np.zeros(contacts.n_u), place=contacts.drive(0.0).place)
        if np.abs(gap).max(initial=0.0) > ROUNDED:
            continue
        complaint = stability_limit(contacts, q).complaint(bed.simulation.physics_step_s)
        if complaint:
            closed = f" while {named(contacts.label.closed)} is closed" if len(sets) > 1 else ""
            step = bed.simulation.physics_step_s
            raise InputError(f"{bed.name}: simulation.physics_step_s = {step}: {complaint}{closed}")


def _refuse_overbent(bed: Testbed, q: Array) -> None:
    """Raise where fitting has bent a link farther than a beam's equations go."""
    ends = np.cumsum([len(positions(module)) for module in bed.modules])
    for module, end in zip(bed.modules, ends, strict=True):
        at = int(end) - len(amplitudes(module))
        for body in module.in_tree_order():
            if (link := body.flexible) is None:
                continue
            shapes = at_section(link, link.length_m).phi[2:]
            for modes in (link.modes_y, link.modes_z):
                bent = abs(float(shapes[:modes] @ q[at : at + modes]))
                at += modes
                if bent > OVERBENT * link.length_m:
                    raise InputError(
                        f"{bed.name}: simulation.initial fits the contacts only with {body.name} of module "
                        f"{module.name} bent by {bent:.3g} m, expected a pose that bends it by less than "
                        f"{OVERBENT * link.length_m:.3g} m"
                    )
            at += link.modes_x


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
