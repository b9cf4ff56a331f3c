"""Consistent initial conditions: a start that satisfies the contacts that are closed then."""

from __future__ import annotations

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.start import initial_motion
from granite.config.testbed import Testbed
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.possible import refuse_contradiction, refuse_impossible
from granite.mrds.flexible.deflection import Deflections
from granite.mrds.tolerances import TYPED_ERROR


def consistent_start(bed: Testbed, contacts: ContactSet | None, q: Array, u: Array) -> tuple[Array, Array]:
    """The start projected onto the constraints.

    Parameters
    ----------
    bed
        The testbed; `simulation.fit_start` allows a start that is moved by more than decimals.
    contacts
        The contacts that are closed at the start, if any.
    q, u
        (n_q), (n_u) configured start.

    Returns
    -------
    tuple[Array, Array]
        q and u.

    Raises
    ------
    InputError
        Where the start does not satisfy the contacts and may not be moved, where no pose near it does, or where a link
        would be bent beyond the beam model.
    """
    if contacts is None or not contacts.contacts:
        return q, u
    worst, size, unit = _worst(contacts, q, u)
    drive = contacts.drive(0.0)
    try:
        pose = refuse_impossible(contacts, q)
        q_start, u_start = contacts.project(pose, u, drive.velocity, drive.displacement)
        refuse_contradiction(contacts, q_start, u_start)
    except InputError as refusal:
        raise refusal.within("simulation.initial", file=bed.name) from None
    if size > TYPED_ERROR and not bed.simulation.fit_start:
        raise InputError(
            f"leaves contact '{worst}' off by {size:.3g} {unit}",
            file=bed.name,
            key="simulation.initial",
            expected="a start that fits it, or simulation.fit_start = true to begin at the nearest one",
        )
    _refuse_large_deflection(bed, q_start)
    return q_start, u_start


def start_of(bed: Testbed, contacts: ContactSet | None = None) -> tuple[Array, Array]:
    """q and u at the start of a testbed, which satisfy the contacts that are closed; errors as `consistent_start`.

    Parameters
    ----------
    bed
        The testbed.
    contacts
        The contacts that are closed; None: none.
    """
    return consistent_start(bed, contacts, *initial_motion(bed))


def _refuse_large_deflection(bed: Testbed, q: Array) -> None:
    """Raise where the projection has bent a link beyond the small-deflection beam model."""
    deflections = Deflections(bed)
    limit = bed.simulation.largest_deflection
    for link, deflection in zip(deflections.links, deflections(q), strict=True):
        if deflection > limit:
            raise InputError(
                f"fits the contacts only with {link} bent by {deflection:.3g} of its length",
                file=bed.name,
                key="simulation.initial",
                expected=f"a pose that bends it by less than simulation.largest_deflection = {limit:g}",
            )


def _worst(contacts: ContactSet, q: Array, u: Array) -> tuple[str, float, str]:
    """The contact with the largest error, this error, and its unit."""
    worst, drive = ("", 0.0, ""), contacts.drive(0.0)
    both = contacts.errors(q, u, drive.velocity, drive.displacement)
    for errors, unit in zip(both, ("m or rad", "m/s or rad/s"), strict=True):
        for name, rows in contacts.rows.items():
            size = float(np.abs(errors[rows]).max(initial=0.0))
            if size > worst[1]:
                worst = (name, size, unit)
    return worst
