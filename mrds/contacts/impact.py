"""Impacts: impulses of contacts that close, with restitution along the normal and Coulomb's limit along the surface.

Chatterjee and Ruina's law (1998), here for simultaneous contacts, without tangential restitution. Of the impulses P_I
that end the approach without friction, P_e that reverse it with e, and P_II that end all relative motion,

    P = P_e + kappa (P_II - P_I)

with kappa = 1, or the largest kappa below that keeps P in every friction cone; P_e is (1 + e) P_I where all contacts
have the same e. P_I and P_II both end the approach, so their difference does not change it: the normals separate with e
whatever the friction does. Where all contacts stay closed (e = 0) inside their cones, none slips afterwards.

No impact adds energy, whatever the restitutions, because no stop takes part that would pull without friction. Normals
that approach with v < 0 separate with -e v, and contacts closed before do no work: P_e changes the kinetic energy by
its work on the mean of the velocities, 1/2 sum P_e (1 - e) v, no term of which is positive. The change by friction is
orthogonal to it in the metric of the mass matrix and leaves 1 - kappa of the motion along itself. A stop that pulls in
P_e and is pressed by friction alone would violate this (Glocker 2013 has such cases of Newton's law).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from granite.config.contacts import Contact
from granite.kernels.kernel import Array
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.friction import has_friction, kinetic_friction, static_friction
from granite.mrds.tolerances import PULLING_IMPULSE, SAME_SPEED


class Strike(NamedTuple):
    """Result of an impact."""

    u: Array  #: velocities after
    impulse: dict[str, Array]  #: of every contact of the set, normal first where it can slip
    energy_lost: dict[str, float]  #: through each contact struck [J]
    sticks: frozenset[str]  #: contacts struck that do not slip afterwards
    idle: tuple[str, ...]  #: stops without a part in it: the result is valid once the set has none of them


def strike(slipping: ContactSet, sticking: ContactSet, q: Array, u: Array, restitution: Mapping[str, float]) -> Strike:
    """Close the contacts that have a restitution; all others of the set stay as they are.

    Parameters
    ----------
    slipping, sticking
        The set in which the contacts struck slip, and that in which they stick; the same without friction.
    q, u
        (n_q), (n_u) state before.
    restitution
        By name of the contacts struck, from 0 to 1.

    Returns
    -------
    Strike
        Velocities after, impulses, energy lost, and stops without a part in it.
    """
    struck = [c for c in sticking.contacts if c.name in restitution]
    without, du_without = _impulse(slipping, q, u, dict.fromkeys(restitution, 0.0))
    back, du_back = _impulse(slipping, q, u, restitution)
    full, du_full = _impulse(sticking, q, u, dict.fromkeys(restitution, 0.0))
    kappa, held = 1.0, True
    for contact in filter(has_friction, struck):
        P_full = full[contact.name]
        change = full[contact.name][0] - without[contact.name][0]
        least, holds = _part(contact, float(back[contact.name][0]), float(change), float(np.linalg.norm(P_full[1:])))
        kappa, held = min(kappa, least), held and holds
    after = u + du_back + kappa * (du_full - du_without)
    impulse = {
        name: _longer(back[name], full[name]) + kappa * (full[name] - _longer(without[name], full[name]))
        for name in full
    }
    before = sticking.errors(q, u)[1]
    behind = sticking.errors(q, after)[1]
    # The change of kinetic energy is the impulse on the mean of the velocities before and after.
    lost = {c.name: float(-0.5 * impulse[c.name] @ (before + behind)[sticking.rows[c.name]]) for c in struck}
    stops = {c.name: sticking.rows[c.name].start for c in sticking.contacts if kind_of(c.kind).one_sided}
    pulled = [name for name in stops if back[name][0] < -PULLING_IMPULSE]
    # Stops with dependent constraints cannot all have their own restitution: the largest one governs.
    outrun = [n for n, e in restitution.items() if n in stops and behind[stops[n]] + e * before[stops[n]] > SAME_SPEED]
    lifted = [name for name in stops if impulse[name][0] < -PULLING_IMPULSE]
    # A bounce elsewhere may move a contact that friction could have stopped.
    still = {c.name: np.abs(behind[sticking.rows[c.name]][1:]).max(initial=0.0) < SAME_SPEED for c in struck}
    sticks = frozenset(name for name, stands in still.items() if held and stands)
    return Strike(after, impulse, lost, sticks, tuple(pulled or outrun or lifted))


def _impulse(
    contact_set: ContactSet, q: Array, u: Array, restitution: Mapping[str, float]
) -> tuple[dict[str, Array], Array]:
    slip = contact_set.errors(q, u)[1]
    y = np.zeros(contact_set.n_held)
    for name, e in restitution.items():
        rows = contact_set.rows[name]
        y[rows] = -(1 + e) * slip[rows]
    change, impulse = contact_set.correct(q, y)
    return {name: impulse[rows] for name, rows in contact_set.rows.items()}, change


def _part(contact: Contact, P_n: float, change: float, P_t: float) -> tuple[float, bool]:
    """The largest kappa up to 1 with kappa P_t <= mu |P_n + kappa change|, and whether static friction holds."""
    pressed, more = abs(P_n), change if P_n >= 0 else -change
    if P_t <= static_friction(contact) * (pressed + more):
        return 1.0, True
    mu = kinetic_friction(contact)
    return min(1.0, mu * pressed / (P_t - mu * more)), False


def _longer(short: Array, like: Array) -> Array:
    """The impulse of a contact that slips, with zeros for its tangential part."""
    return np.concatenate([short, np.zeros(len(like) - len(short))])
