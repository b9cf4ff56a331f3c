"""Starts that the plant refuses: inside a stop, or with a physics step that is too long for the fastest mode."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from granite.config.errors import InputError
from granite.config.footprints import plant_pairs
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.reachable import named
from granite.mrds.system import System
from granite.mrds.tolerances import TYPED_ERROR
from granite.mrds.vibration_modes import stability_limit


def refuse_entered(bed: Testbed, entered: dict[str, float]) -> None:
    """Raise where a body penetrates a stop at the start, by a depth [m]: the first step would eject it."""
    deep = {name: depth for name, depth in entered.items() if depth > TYPED_ERROR}
    if deep:
        name = max(deep, key=lambda stop: deep[stop])
        raise InputError(
            f"begins {deep[name]:.3g} m inside contact '{name}'",
            file=bed.name,
            key="simulation.initial",
            expected="a start on its free side",
        )


def refuse_overlap(bed: Testbed, collisions: ca.Function | None, q: Array) -> None:
    """Raise where solid bodies overlap at the start, by more than the error of typed numbers."""
    if collisions is None:
        return
    depth = np.array(collisions(q, np.zeros(len(bed.velocities)))[3]).ravel()
    i = int(np.argmax(depth))
    if depth[i] > TYPED_ERROR:
        problem = f"begins {depth[i]:.3g} m inside, {plant_pairs(bed)[i].name}"
        raise InputError(problem, file=bed.name, key="simulation.initial", expected="a start outside")


def refuse_unstable_step(bed: Testbed, sets: Sequence[ContactSet], q: Array) -> None:
    """Raise where the physics step is too long for the fastest mode about the start, under any set it satisfies.

    Opening a contact makes a link faster: a step that is stable at the start need not be after it. The modes of a set
    that the start does not satisfy are not known before the run; there, a step that is too long ends the run.
    """
    springs = any(joint.spring[0] for module in bed.modules for joint in module.joints)
    springs = springs or any(contact.compliance for contact in bed.contacts)
    if not springs and not any(body.flexible for module in bed.modules for body in module.bodies):
        return
    for contacts in sets or (System(bed.modules).contact_set(),):
        gap, _ = contacts.errors(q, np.zeros(contacts.n_u), displacement=contacts.drive(0.0).displacement)
        if np.abs(gap).max(initial=0.0) > TYPED_ERROR:
            continue
        complaint = stability_limit(contacts, q).complaint(bed.simulation.physics_step_s)
        if complaint:
            closed = f" while {named(contacts.label.closed)} is closed" if len(sets) > 1 else ""
            step = bed.simulation.physics_step_s
            raise InputError(
                complaint.problem,
                file=bed.name,
                key="simulation.physics_step_s",
                value=step,
                expected=f"{complaint.expected}{closed}",
            )
