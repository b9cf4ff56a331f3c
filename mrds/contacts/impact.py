"""Contacts that close at once: the impulses, with restitution along the normal and Coulomb's limit along the surface.

Chatterjee and Ruina's law (1998), here for contacts struck together, with no restitution along the surface. Of the
impulses P_I that end the approach without friction and P_II that end all motion,

    P = (1 + e) P_I + kappa (P_II - P_I)

with kappa 1, or as much less as keeps P in every friction cone. Both end the approach alike, so their difference
leaves it alone: the normals come back with e whatever the friction does. One contact makes no energy, nor do several of
one e; with different e no such law is known. What stays (e = 0) and is in its cone does not slip afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from config.contacts import Contact
from mrds.contacts.contact_set import ContactSet
from mrds.contacts.friction import kinetic_friction, rubs, static_friction
from mrds.kernel import Array


class Strike(NamedTuple):
    """What closing contacts at once does."""

    u: Array  #: velocities after
    impulse: dict[str, Array]  #: of every contact of the set, normal first where it can slip
    energy_lost: dict[str, float]  #: through each contact struck [J]
    sticks: bool  #: whether none of those struck goes on slipping


def strike(slipping: ContactSet, sticking: ContactSet, q: Array, u: Array, restitution: Mapping[str, float]) -> Strike:
    """Close the contacts that have a restitution here; all others of the set go on holding as they do.

    They slip in the first of two sets and stick in the second, which are the same where none of them rubs.
    """
    struck = [c for c in sticking.contacts if c.name in restitution]
    without, du_without = _impulse(slipping, q, u, dict.fromkeys(restitution, 0.0))
    back, du_back = _impulse(slipping, q, u, restitution)
    full, du_full = _impulse(sticking, q, u, dict.fromkeys(restitution, 0.0))
    kappa, sticks = 1.0, True
    for contact in filter(rubs, struck):
        P_full, change = full[contact.name], full[contact.name][0] - without[contact.name][0]
        least, holds = _part(contact, float(back[contact.name][0]), float(change), float(np.linalg.norm(P_full[1:])))
        kappa, sticks = min(kappa, least), sticks and holds
    after = u + du_back + kappa * (du_full - du_without)
    impulse = {
        name: _longer(back[name], full[name]) + kappa * (full[name] - _longer(without[name], full[name]))
        for name in full
    }
    slips = sticking.errors(q, u)[1] + sticking.errors(q, after)[1]
    # The change of kinetic energy is the impulse on the mean of the velocities before and after.
    lost = {c.name: float(-0.5 * impulse[c.name] @ slips[sticking.rows[c.name]]) for c in struck}
    return Strike(after, impulse, lost, sticks)


def _impulse(
    contact_set: ContactSet, q: Array, u: Array, restitution: Mapping[str, float]
) -> tuple[dict[str, Array], Array]:
    slip, y = contact_set.errors(q, u)[1], np.zeros(contact_set.n_held)
    for name, e in restitution.items():
        rows = contact_set.rows[name]
        y[rows] = -(1 + e) * slip[rows]
    change, impulse = contact_set.correct(q, y)
    return {name: impulse[rows] for name, rows in contact_set.rows.items()}, change


def _part(contact: Contact, P_n: float, change: float, P_t: float) -> tuple[float, bool]:
    """The greatest kappa up to 1 with kappa P_t <= mu |P_n + kappa change|, and whether static friction holds it."""
    pressed, more = abs(P_n), change if P_n >= 0 else -change
    if P_t <= static_friction(contact) * (pressed + more):
        return 1.0, True
    mu = kinetic_friction(contact)
    return min(1.0, mu * pressed / (P_t - mu * more)), False


def _longer(short: Array, like: Array) -> Array:
    """The impulse of a contact that slips, with zeros along the surface."""
    return np.concatenate([short, np.zeros(len(like) - len(short))])
