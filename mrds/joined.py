"""The global level of MRDS: contact forces of one contact set from what the modules show of themselves.

Bonaventura 2002, sections 5.4 to 5.6. With C = psi_c^T G from the twists of all points to the constrained velocities,

    C x'' + .. = x''_c        x'' = x''_open + Lambda^-1 W        W = U^T F_u + C^T F_c

is linear in the unknown forces F_c: S F_c = y with S = C Lambda^-1 C^T. All contact types of the thesis (A, B, between
modules, within one, with ground) are this one expression; its signs for type B are misprinted there (eq. 46, 50, 51).

Modules that join others are hubs: their accelerations stay unknown beside the forces, so that chains around one body do
not couple (Lilly and Orin's reference member), and the system [-S -A; -A^T H] [F_c; u'] = [-y; f] is quasi-definite.

Contacts that slip under friction add one right-hand side each: how the holding forces answer to a unit of its friction.
How much friction there is follows from them (`mrds.contacts.friction`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import casadi as ca

from granite.config.base import spatial
from granite.config.contacts import Contact, Side
from granite.mrds.contacts import KINDS
from granite.mrds.contacts.friction import Rub, direction_of, form, kinetic_friction, magnitudes
from granite.mrds.contacts.joint import Joint, Place, join
from granite.mrds.contacts.kind import PLANAR, known
from granite.mrds.elimination import eliminate
from granite.mrds.symbols import rotation_of_angles, vector

#: against division by zero: less than any mobility
TINY = 1e-300


@dataclass(frozen=True)
class Shown:
    """What a module shows of itself at its points: symbols for outputs of its function in `mrds.operational`."""

    points: tuple[str, ...]
    is_hub: bool
    symbols: dict[str, ca.SX]

    def __getitem__(self, output: str) -> ca.SX:
        return self.symbols[output]


class Held(NamedTuple):
    """What holds the contacts together; one column for each right-hand side."""

    force: ca.SX  #: F_c of all contacts
    acceleration: ca.SX  #: u' of all hubs
    #: least of the pivots, each against its diagonal: sine squared of the angle to the others; -1 where a contact jams
    independence: ca.SX


class Joined:
    """One contact set. Inputs and outputs are symbols; `mrds.contacts.assembly` makes functions of them."""

    def __init__(
        self, shown: dict[str, Shown], contacts: tuple[Contact, ...], planar: bool, slipping: frozenset[str]
    ) -> None:
        self._shown, self._rows = shown, PLANAR if planar else list(range(6))
        self._leaves = {name: s for name, s in shown.items() if not s.is_hub}
        self._hubs = {name: s for name, s in shown.items() if s.is_hub}
        self.joints, places = [], [ca.SX(0, 1)]
        for c in contacts:
            kind = form(c, c.name in slipping)
            directions = known(kind.held, planar)
            places.append(ca.SX.sym("x_c", len(directions)))
            moved = {d: places[-1][i] for i, d in enumerate(directions) if d in c.motion.profiles}
            self.joints.append(join(kind, c.parameters, self._place(c.first), self._place(c.second), planar, moved))
        #: where the pose is to be along the constrained modes; of use where a contact has a motion
        self.place = ca.vertcat(*places)
        self.is_moved = any(c.motion.profiles for c in contacts)
        self.n_held, self.n_free = sum(j.n_held for j in self.joints), sum(j.n_free for j in self.joints)
        self._C = {name: self._constraints(name) for name in shown}
        #: from the constrained modes to those in which the forces are solved for
        self.turn = ca.diagcat(ca.SX(0, 0), *(j.turn for j in self.joints))
        #: known forces along the free modes, and prescribed velocity and acceleration along the constrained ones
        self.free_force = ca.SX.sym("F_u", self.n_free)
        self.velocity, self.prescribed = ca.SX.sym("xd_c", self.n_held), ca.SX.sym("xdd_c", self.n_held)
        #: drift feedback: how strongly velocity and pose errors of the constraints are pulled back [1/s, 1/s^2]
        self.feedback = ca.SX.sym("feedback", 2)
        #: errors of the constraints: velocity, and pose where it is bound
        self.slip = _stacked(j.velocity for j in self.joints) - self.velocity
        self.gap = _stacked(j.gap for j in self.joints)
        #: contacts that slip under friction
        self.rubs = _rubs(self.joints, contacts, planar, slipping)

    @property
    def drive(self) -> list[ca.SX]:
        """What is done to the contacts from outside."""
        return [self.free_force, self.velocity, self.prescribed, self.feedback]

    def free_wrenches(self, free_force: ca.SX) -> dict[str, ca.SX]:
        """The wrenches of forces along the free modes, at the points of every module."""
        return self._wrenches(free_force, [j.U for j in self.joints])

    def held_wrenches(self, force: ca.SX) -> dict[str, ca.SX]:
        """The wrenches of given holding forces, at the points of every module."""
        return self._wrenches(self.turn @ force, [j.C for j in self.joints])

    def contact_wrenches(self, held: ca.SX) -> ca.SX:
        """The wrench by E on P of each contact, one after the other, at P in world axes, with its friction."""
        free_at = [0, *accumulate(j.n_free for j in self.joints)]
        held_at = [0, *accumulate(j.n_held for j in self.joints)]
        free_force = ca.vertsplit(self._with_friction(held), free_at)
        parts = zip(self.joints, free_force, ca.vertsplit(held, held_at), strict=True)
        return _stacked(j.U[1].T @ free + j.C[1].T @ (j.turn @ force) for j, free, force in parts)

    def contact_power(self, held: ca.SX) -> ca.SX:
        """What all contacts do on the modules: zero, but for those that are moved, driven or rub."""
        free, bound = (_stacked(getattr(j, v) for j in self.joints) for v in ("free_velocity", "velocity"))
        return ca.dot(self._with_friction(held), free) + ca.dot(held, bound)

    def _with_friction(self, held: ca.SX) -> ca.SX:
        """The forces along the free modes, with the friction that goes with given holding forces."""
        free_force = self.free_force
        for rub, unit in zip(self.rubs, self._unit_frictions(), strict=True):
            N = held[rub.normal]
            free_force += rub.friction * (ca.fmax(N, 0) if rub.one_sided else ca.fabs(N)) * unit
        return free_force

    def demand(self) -> ca.SX:
        """y: what the holding forces must add to the accelerations along the constrained modes."""
        return self.turn.T @ self.turned_demand()

    def turned_demand(self) -> ca.SX:
        """The same in the axes in which it is solved."""
        y = self._yielding(-_stacked(j.acceleration for j in self.joints), self.free_force)
        y += self.turn @ (self.prescribed - self.feedback[0] * self.slip - self.feedback[1] * self.gap)
        rubbed = (self._yielding(ca.SX.zeros(self.n_held), unit) for unit in self._unit_frictions())
        return ca.horzcat(y, *rubbed)

    def net_force(self) -> ca.SX:
        """f: the generalised force on every hub before its contacts hold."""
        f = _stacked(hub["net_force"] for hub in self._hubs.values()) + self._pushing(self.free_force)
        return ca.horzcat(f, *map(self._pushing, self._unit_frictions()))

    def held_by_friction(self, held: Held) -> tuple[Held, ca.SX]:
        """What holds once the contacts that slip rub as hard as they are pressed; and the forces along free modes."""
        force, unit_forces = _first_and_rest(held.force)
        acceleration, unit_accelerations = _first_and_rest(held.acceleration)
        if not self.rubs:
            return held, self.free_force
        normals = [rub.normal for rub in self.rubs]
        rubbed, margin = magnitudes(force[normals], unit_forces[normals, :], self.rubs)
        free_force = self.free_force + ca.horzcat(*self._unit_frictions()) @ rubbed
        independence = ca.if_else(margin > 0, held.independence, -1)
        together = Held(force + unit_forces @ rubbed, acceleration + unit_accelerations @ rubbed, independence)
        return together, free_force

    def mass_matrix(self) -> ca.SX:
        """H of all hubs."""
        return ca.diagcat(ca.SX(0, 0), *(hub["H"] for hub in self._hubs.values()))

    def constraint_matrix(self) -> ca.SX:
        """A: from the velocities of all hubs to the constrained ones."""
        return self.turn.T @ self._coupling()

    def grasp_matrix(self, module: str) -> ca.SX:
        """From the twist of a module that is frozen in its pose to the constrained velocities.

        The twist is that of the middle of its points; the transpose takes holding forces to their wrench about it.
        """
        shown, carried = self._shown[module], [ca.SX(0, len(self._rows))]
        places = ca.horzsplit(ca.reshape(shown["positions"], 3, len(shown.points)))
        for place in places:
            lever = place - sum(places) / len(places)
            # v + omega x lever, omega
            moved = ca.vertcat(ca.horzcat(ca.SX.eye(3), -ca.skew(lever)), ca.horzcat(ca.SX(3, 3), ca.SX.eye(3)))
            carried.append(moved[self._rows, self._rows])
        return self.turn.T @ self._C[module] @ ca.vertcat(*carried)

    def solve(self, y: ca.SX, net_force: ca.SX) -> Held:
        """[-S -A; -A^T H] [F_c; u'] = [-y; f], with S = C Lambda^-1 C^T over the leaves; y is a turned demand."""
        S, A, H = ca.SX(self.n_held, self.n_held), self._coupling(), self.mass_matrix()
        for name, leaf in self._leaves.items():
            S += self._C[name] @ leaf["inverse_inertia"] @ self._C[name].T
        K = ca.sparsify(ca.vertcat(ca.horzcat(-S, -A), ca.horzcat(-A.T, H)))
        x, pivots = eliminate(K, ca.vertcat(-y, net_force))
        mobility = self._mobility(S)
        force, of_hubs = ca.vertsplit(x, [0, self.n_held, x.shape[0]])
        least = ca.SX(1)
        for i in range(self.n_held):
            # Where nothing moves at all, pivot and diagonal are zero, and fmin would not see 0 / 0.
            least = ca.fmin(least, -pivots[i] / (mobility[i] + TINY))
        return Held(self.turn.T @ force, of_hubs, least)

    def _mobility(self, S: ca.SX) -> list[ca.SX]:
        """The diagonal of S; of a contact within one module the sum of both its sides, which do not cancel like S.

        Two points of one body do not move against each other: what rounding leaves of that in S is no motion.
        """
        mobility = [S[i, i] for i in range(self.n_held)]
        at = 0
        for joint in self.joints:
            E, P = joint.sides
            if E.module == P.module and P.module in self._leaves:
                inverse = self._leaves[P.module]["inverse_inertia"]
                alone = [
                    ca.diag(C @ inverse[self._here(side), self._here(side)] @ C.T)
                    for side, C in zip(joint.sides, joint.C, strict=True)
                ]
                mobility[at : at + joint.n_held] = [alone[0][i] + alone[1][i] for i in range(joint.n_held)]
            at += joint.n_held
        return mobility

    def _unit_frictions(self) -> list[ca.SX]:
        """For each contact that rubs, a unit of its friction among the forces along the free modes."""
        units = []
        for rub in self.rubs:
            unit = ca.SX(self.n_free, 1)
            unit[rub.slip] = -rub.direction
            units.append(unit)
        return units

    def _yielding(self, y: ca.SX, free_force: ca.SX) -> ca.SX:
        """y less what the leaves yield to forces along the free modes."""
        known = self.free_wrenches(free_force)
        for name, leaf in self._leaves.items():
            y -= self._C[name] @ (leaf["inverse_inertia"] @ known[name])
        return y

    def _pushing(self, free_force: ca.SX) -> ca.SX:
        """How forces along the free modes push the hubs."""
        known = self.free_wrenches(free_force)
        return _stacked(hub["J"].T @ known[name] for name, hub in self._hubs.items())

    def _coupling(self) -> ca.SX:
        """A as the turned modes see it."""
        return ca.horzcat(ca.SX(self.n_held, 0), *(self._C[name] @ hub["J"] for name, hub in self._hubs.items()))

    def _wrenches(self, forces: ca.SX, maps: list[tuple[ca.SX, ca.SX]]) -> dict[str, ca.SX]:
        """Contact forces act by E on P, in the axes of E; virtual power takes them to the points of both sides."""
        wrenches = {name: ca.SX.zeros(s["twists"].shape[0]) for name, s in self._shown.items()}
        parts = ca.vertsplit(forces, [0, *accumulate(m[0].shape[0] for m in maps)])
        for joint, both, force in zip(self.joints, maps, parts, strict=True):
            for side, to_relative in zip(joint.sides, both, strict=True):
                if side.module is not None:
                    wrenches[side.module][self._here(side)] += to_relative.T @ force
        return wrenches

    def _constraints(self, module: str) -> ca.SX:
        """C for the points of one module, all contacts."""
        blocks = [ca.SX(0, self._shown[module]["twists"].shape[0])]
        for joint in self.joints:
            block = ca.SX(joint.n_held, blocks[0].shape[1])
            for side, C in zip(joint.sides, joint.C, strict=True):
                if side.module == module:
                    block[:, self._here(side)] += C
            blocks.append(block)
        return ca.sparsify(ca.vertcat(*blocks))

    def _here(self, side: Place) -> slice:
        return slice(side.row, side.row + len(self._rows))

    def _place(self, side: Side) -> Place:
        if side.grounded:
            still = ca.SX(6, 1)
            return Place(None, 0, vector(spatial(side.position_m)), rotation_of_angles(side.rotation_rad), still, still)
        shown = self._shown[side.module]
        i, d = shown.points.index(side.point or ""), len(self._rows)
        here, three = slice(d * i, d * (i + 1)), slice(3 * i, 3 * (i + 1))
        acceleration = shown["drift" if shown.is_hub else "open"]
        position, axes = shown["positions"][three], shown["axes"][:, three]
        if d == 3:
            position, axes = _in_plane(position, axes)
        twist, acceleration = self._full(shown["twists"][here]), self._full(acceleration[here])
        return Place(side.module, d * i, position, axes, twist, acceleration)

    def _full(self, twist: ca.SX) -> ca.SX:
        full = ca.SX(6, 1)
        full[self._rows] = twist
        return full


def _rubs(joints: list[Joint], contacts: tuple[Contact, ...], planar: bool, slipping: frozenset[str]) -> list[Rub]:
    rubs, normal, free = [], 0, 0
    for joint, contact in zip(joints, contacts, strict=True):
        kind = KINDS[contact.kind]
        if contact.name in slipping and kinetic_friction(contact) > 0:
            names = tuple(kind.held[j] for j in kind.rubbing)
            slips = len(known(names, planar))
            direction = direction_of(ca.densify(joint.free_velocity[:slips]))
            slip = slice(free, free + slips)
            rubs.append(Rub(contact.name, kinetic_friction(contact), kind.one_sided, normal, slip, direction))
        normal, free = normal + joint.n_held, free + joint.n_free
    return rubs


def _first_and_rest(columns: ca.SX) -> tuple[ca.SX, ca.SX]:
    return columns[:, 0], columns[:, 1:]


def _in_plane(position: ca.SX, axes: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The same with the zeros of the plane made structural, so that they cost nothing."""
    turned = ca.diagcat(axes[:2, :2], ca.SX(1))
    return vector([position[0], position[1], 0]), turned


def _stacked(parts: Iterator[ca.SX]) -> ca.SX:
    """One dense column, empty if there is nothing to stack."""
    return ca.densify(ca.vertcat(ca.SX(0, 1), *parts))
