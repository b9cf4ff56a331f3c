"""Grips that are not rigid: springs and dampers between the two sides, a largest force, and friction of the hinge.

A closed grip is then no constraint. With the gap and the slip of its two sides along the directions that it holds,

    force = -stiffness gap - damping slip,      at most `holding_n`, and none beyond the reach of the grip,

and along the rotations that it leaves free a friction against their rates. The force acts on both sides at one point,
so that momentum stays.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.devices.grips import GripCompliance, Grips
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.kind import directions_in
from granite.mrds.contacts.switching import REACH
from granite.sim.plant.stable_step import refuse_faster


class GripForces(NamedTuple):
    """Forces of all closed grips, one after the other as in their contact set."""

    held: ca.MX  #: (n_held) [N, N m]
    free: ca.MX  #: (n_free) [N, N m]


def compliance(bed: Testbed) -> GripCompliance | None:
    """Of all grips of the testbed; None: they are rigid."""
    grips = bed.devices_of(Grips).values()
    return next((device.simulated for device in grips if device.simulated is not None), None)


def grip_forces(soft: GripCompliance, contacts: ContactSet, q: ca.MX, u: ca.MX) -> GripForces:
    """At a pose and velocity."""
    zero = ca.MX.zeros(contacts.n_held)
    gap, slip = contacts.assembly.errors(q, u, zero, zero)
    turning = contacts.assembly.free_velocity(q, u)
    held, free, first = [ca.MX(0, 1)], [ca.MX(0, 1)], 0
    for contact in contacts.contacts:
        kind, rows = kind_of(contact.kind), contacts.rows[contact.name]
        stiffness, damping = soft.along(directions_in(kind.held, contacts.planar))
        force = -ca.DM(stiffness) * gap[rows] - ca.DM(damping) * slip[rows]
        pushes = ca.DM(_is_translation(directions_in(kind.held, contacts.planar)))
        if soft.holding_n is not None:
            size = ca.norm_2(pushes * force)
            force *= ca.fmin(1, soft.holding_n / ca.fmax(size, soft.holding_n))
        held.append(ca.if_else(ca.norm_2(pushes * gap[rows]) <= REACH, force, 0))
        names = directions_in(kind.free, contacts.planar)
        rate = turning[first : first + len(names)]
        turns = 1 - ca.DM(_is_translation(names))
        free.append(-soft.friction_n_m * turns * rate / ca.sqrt(rate**2 + soft.friction_rate_rad_s**2))
        first += len(names)
    return GripForces(ca.vertcat(*held), ca.vertcat(*free))


def grip_function(soft: GripCompliance, contacts: ContactSet) -> ca.Function:
    """(q, u) -> generalised force of the closed grips: the transposes of the maps from u to slip and free velocity."""
    q, u, zero = ca.MX.sym("q", contacts.n_q), ca.MX.sym("u", contacts.n_u), ca.MX.zeros(contacts.n_held)
    motion = ca.vertcat(contacts.assembly.errors(q, u, zero, zero)[1], contacts.assembly.free_velocity(q, u))
    force = ca.MX.sym("force", motion.numel())
    transposed = ca.Function("transposed", [q, u, force], [ca.jtimes(motion, u, force, True)])
    return ca.Function("grips", [q, u], [transposed(q, u, ca.vertcat(*grip_forces(soft, contacts, q, u)))])


def refuse_stiff_grips(bed: Testbed, sets: tuple[ContactSet, ...], q: Array) -> None:
    """Raise where the physics step is too long for the modules on the springs of closed grips, at the start."""
    soft = compliance(bed)
    if soft is None:
        return
    for contacts in (contact_set for contact_set in sets if contact_set.contacts):
        M, A = contacts.mass_and_constraints(q)
        names = [name for c in contacts.contacts for name in directions_in(kind_of(c.kind).held, contacts.planar)]
        stiffness, damping = map(np.array, soft.along(names))
        admittance = A @ np.linalg.solve(M, A.T)
        fastest = max(np.linalg.eigvals(stiffness * admittance).real.max() ** 0.5,
                      np.linalg.eigvals(damping * admittance).real.max())  # fmt: skip
        refuse_faster(
            bed, float(fastest), "grips are too stiff", "less stiffness or damping of devices.grips.simulated"
        )


def _is_translation(names: tuple[str, ...]) -> list[float]:
    return [float(not name.startswith("r")) for name in names]
