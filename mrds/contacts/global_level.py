"""The global level of MRDS: contact forces of one contact set from the operational terms of its modules.

Bonaventura 2002, sections 5.4 to 5.6. With C = psi_c^T G from the twists of all points to the constrained velocities,

    C x'' + .. = x''_c        x'' = x''_open + Lambda^-1 W        W = U^T F_u + C^T F_c

is linear in the unknown forces F_c: S F_c = y with S = C Lambda^-1 C^T, the Delassus matrix. All contact types of the
thesis (A, B, between modules, within one, with ground) are this one expression; its signs for type B are misprinted
there (eq. 46, 50, 51).

Modules that join others are hubs: their accelerations stay unknowns beside the forces, so that chains around one body
do not couple (Lilly and Orin's reference member). The system

    [-S -A; -A^T H] [F_c; u'] = [-y; f]

with the constraint Jacobian A and the mass matrix H of the hubs is quasi-definite; without hubs it is the Schur
complement of the modules' inertias.

Contacts that slide under friction add one right-hand side each: the constraint forces due to a unit of its friction.
The magnitudes of friction follow from these (`mrds.contacts.friction`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import casadi as ca

from granite.config.base import spatial
from granite.config.contacts import Contact, Side
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.compliance import elastic_force
from granite.mrds.contacts.friction import SlidingContact, direction_of, form, kinetic_friction, magnitudes
from granite.mrds.contacts.kind import PLANAR, directions_in
from granite.mrds.contacts.kinematics import ContactKinematics, ContactPoint, contact_kinematics
from granite.mrds.elimination import eliminate
from granite.mrds.symbols import rotation_of_angles, vector
from granite.mrds.tolerances import IMMOVABLE_ROW, NO_DIVISION_BY_ZERO, NO_LEVER


@dataclass(frozen=True)
class ModuleSymbols:
    """Symbols for the outputs of a module's function in `mrds.contacts.operational`."""

    points: tuple[str, ...]
    is_hub: bool
    symbols: dict[str, ca.SX]

    def __getitem__(self, output: str) -> ca.SX:
        return self.symbols[output]


class KktSolution(NamedTuple):
    """Solution of the global system; one column for each right-hand side."""

    force: ca.SX  #: F_c of all contacts
    acceleration: ca.SX  #: u' of all hubs
    #: smallest pivot relative to its diagonal: sine squared of the angle to the others; -1 where a contact jams
    independence: ca.SX


class GlobalLevel:
    """One contact set. Inputs and outputs are symbols; `mrds.contacts.assembly` makes functions of them."""

    def __init__(
        self,
        modules: dict[str, ModuleSymbols],
        contacts: tuple[Contact, ...],
        planar: bool,
        slipping: frozenset[str],
    ) -> None:
        self._modules = modules
        self._rows = PLANAR if planar else list(range(6))
        self._leaves = {name: m for name, m in modules.items() if not m.is_hub}
        self._hubs = {name: m for name, m in modules.items() if m.is_hub}
        self.kinematics: list[ContactKinematics] = []
        displacements = [ca.SX(0, 1)]
        for c in contacts:
            kind = form(c, c.name in slipping)
            directions = directions_in(kind.held, planar)
            displacements.append(ca.SX.sym("x_c", len(directions)))
            moved = {d: displacements[-1][i] for i, d in enumerate(directions) if d in c.motion.profiles}
            E, P = self._point(c.first), self._point(c.second)
            self.kinematics.append(contact_kinematics(kind, c.parameters, E, P, planar, moved, kind_of(c.kind)))
        #: x_c: prescribed displacement along the constrained modes; used where a contact has a prescribed motion
        self.displacement = ca.vertcat(*displacements)
        self.has_motion = any(c.motion.profiles for c in contacts)
        self.n_held = sum(contact.n_held for contact in self.kinematics)
        self.n_free = sum(contact.n_free for contact in self.kinematics)
        self._contacts = contacts
        self._held_at = [0, *accumulate(contact.n_held for contact in self.kinematics)]
        self._C = {name: self._constraints(name) for name in modules}
        #: from the constrained modes to the axes in which the forces are solved for
        self.rotation = ca.diagcat(ca.SX(0, 0), *(k.rotation for k in self.kinematics))
        #: known forces along the free modes, and prescribed velocity and acceleration along the constrained ones
        self.free_force = ca.SX.sym("F_u", self.n_free)
        elastic = (elastic_force(c, k, planar) for c, k in zip(contacts, self.kinematics, strict=True))
        #: all forces along the free modes but friction: prescribed ones, and those of springs
        self._pushes = self.free_force + ca.vertcat(ca.SX(0, 1), *elastic)
        self.velocity = ca.SX.sym("xd_c", self.n_held)
        self.prescribed = ca.SX.sym("xdd_c", self.n_held)
        #: gains of Baumgarte stabilisation on the velocity and position errors of the constraints [1/s, 1/s^2]
        self.feedback = ca.SX.sym("feedback", 2)
        #: constraint errors: of velocity, and of position where the pose is constrained
        self.slip = _stacked(k.velocity for k in self.kinematics) - self.velocity
        self.gap = _stacked(k.gap for k in self.kinematics)
        #: contacts that slide under friction
        self.sliding = _sliding_contacts(self.kinematics, contacts, planar, slipping)

    @property
    def drive(self) -> list[ca.SX]:
        """Free force, prescribed velocity and acceleration, and Baumgarte gains."""
        return [self.free_force, self.velocity, self.prescribed, self.feedback]

    def free_wrenches(self, free_force: ca.SX) -> dict[str, ca.SX]:
        """Wrenches of forces along the free modes, at the points of every module."""
        return self._wrenches(free_force, [k.U for k in self.kinematics])

    def held_wrenches(self, force: ca.SX) -> dict[str, ca.SX]:
        """Wrenches of given constraint forces, at the points of every module."""
        return self._wrenches(self.rotation @ force, [k.C for k in self.kinematics])

    def contact_wrenches(self, held: ca.SX) -> ca.SX:
        """The wrench by E on P of each contact, one after the other, at P in world axes, friction included."""
        free_at = [0, *accumulate(k.n_free for k in self.kinematics)]
        free_force = ca.vertsplit(self._with_friction(held), free_at)
        parts = zip(self.kinematics, free_force, ca.vertsplit(held, self._held_at), strict=True)
        return _stacked(k.U[1].T @ free + k.C[1].T @ (k.rotation @ force) for k, free, force in parts)

    def contact_power(self, held: ca.SX) -> ca.SX:
        """Power of all contacts on the modules: zero but for prescribed motion, force, springs or friction."""
        free = _stacked(contact.free_velocity for contact in self.kinematics)
        bound = _stacked(contact.velocity for contact in self.kinematics)
        return ca.dot(self._with_friction(held), free) + ca.dot(held, bound)

    def _with_friction(self, held: ca.SX) -> ca.SX:
        """Forces along the free modes, with the friction that belongs to given constraint forces."""
        free_force = self._pushes
        for contact, unit in zip(self.sliding, self._unit_frictions(), strict=True):
            N = held[contact.normal]
            free_force += contact.friction * (ca.fmax(N, 0) if contact.one_sided else ca.fabs(N)) * unit
        return free_force

    def constraint_rhs(self) -> ca.SX:
        """y: the part of x''_c that the constraint forces have to make."""
        return self.rotation.T @ self.rotated_constraint_rhs()

    def rotated_constraint_rhs(self) -> ca.SX:
        """y in the axes in which the forces are solved for; one more column for a unit of each friction."""
        y = self._less_leaf_response(-_stacked(k.acceleration for k in self.kinematics), self._pushes)
        # Baumgarte stabilisation: x''_c - gains * (slip, gap)
        y += self.rotation @ (self.prescribed - self.feedback[0] * self.slip - self.feedback[1] * self.gap)
        units = (self._less_leaf_response(ca.SX.zeros(self.n_held), unit) for unit in self._unit_frictions())
        return ca.horzcat(y, *units)

    def net_force(self) -> ca.SX:
        """f: generalised force on every hub without constraint forces; one more column for a unit of each friction."""
        f = _stacked(hub["net_force"] for hub in self._hubs.values()) + self._on_hubs(self._pushes)
        return ca.horzcat(f, *map(self._on_hubs, self._unit_frictions()))

    def with_friction(self, solution: KktSolution) -> tuple[KktSolution, ca.SX]:
        """The columns of a solution combined by the magnitudes of friction; and the forces along the free modes."""
        force, unit_forces = _first_and_rest(solution.force)
        acceleration, unit_accelerations = _first_and_rest(solution.acceleration)
        if not self.sliding:
            return solution, self._pushes
        normals = [contact.normal for contact in self.sliding]
        m, margin = magnitudes(force[normals], unit_forces[normals, :], self.sliding)
        free_force = self._pushes + ca.horzcat(*self._unit_frictions()) @ m
        independence = ca.if_else(margin > 0, solution.independence, -1)
        combined = KktSolution(force + unit_forces @ m, acceleration + unit_accelerations @ m, independence)
        return combined, free_force

    def mass_matrix(self) -> ca.SX:
        """H of all hubs."""
        return ca.diagcat(ca.SX(0, 0), *(hub["H"] for hub in self._hubs.values()))

    def constraint_matrix(self) -> ca.SX:
        """A: the constraint Jacobian, from the velocities of all hubs to the constrained ones."""
        return self.rotation.T @ self._rotated_constraint_matrix()

    def grasp_matrix(self, module: str) -> ca.SX:
        """G: from the twist of a module with frozen joints to the constrained velocities.

        The twist is that of the centroid of its points; the transpose maps constraint forces to their wrench about it.
        """
        symbols = self._modules[module]
        blocks = [ca.SX(0, len(self._rows))]
        positions = ca.horzsplit(ca.reshape(symbols["positions"], 3, len(symbols.points)))
        for position in positions:
            lever = position - sum(positions) / len(positions)
            # v + omega x lever, omega
            block = ca.vertcat(ca.horzcat(ca.SX.eye(3), -ca.skew(lever)), ca.horzcat(ca.SX(3, 3), ca.SX.eye(3)))
            blocks.append(block[self._rows, self._rows])
        return self.rotation.T @ self._C[module] @ ca.vertcat(*blocks)

    def internal_force(self, module: str, force: ca.SX) -> ca.SX:
        """The part of the constraint forces on a module that neither pushes nor turns it (`ContactSet.internal_force`).

        The rest, the smallest forces with the same resultant, is in the space of the columns of G. These are made
        orthogonal one after the other (modified Gram-Schmidt), each twice against rounding.
        """
        # A contact of a module with itself cancels whatever it does, and is no load by others.
        loads = [i for i, c in enumerate(self._contacts) if (c.first.module == module) != (c.second.module == module)]
        loads = [i for i in loads if self.kinematics[i].n_held]
        rows = [row for i in loads for row in range(self._held_at[i], self._held_at[i + 1])]
        internal = ca.SX.zeros(self.n_held)
        if len(loads) < 2:  # one contact alone can't squeeze
            return internal
        columns = ca.horzsplit(ca.densify(self.grasp_matrix(module)[rows, :]))
        rest = force[rows]
        largest = ca.SX(0)
        for column in columns:
            largest = ca.fmax(largest, ca.norm_2(column))
        basis: list[ca.SX] = []
        for column in columns:
            for other in (*basis, *basis):
                column -= other * ca.dot(other, column)
            size = ca.norm_2(column)
            is_lever = size > NO_LEVER * largest
            basis.append(column * ca.if_else(is_lever, 1 / (size + NO_DIVISION_BY_ZERO), 0))
        for other in basis:
            rest -= other * ca.dot(other, rest)
        internal[rows] = rest
        return internal

    def solve(self, y: ca.SX, net_force: ca.SX) -> KktSolution:
        """[-S -A; -A^T H] [F_c; u'] = [-y; f], with the Delassus matrix S = C Lambda^-1 C^T of the leaves.

        y is in the axes in which the forces are solved for.
        """
        S = ca.SX(self.n_held, self.n_held)
        A = self._rotated_constraint_matrix()
        H = self.mass_matrix()
        for name, leaf in self._leaves.items():
            S += self._C[name] @ leaf["inverse_inertia"] @ self._C[name].T
        K = ca.sparsify(ca.vertcat(ca.horzcat(-S, -A), ca.horzcat(-A.T, H)))
        x, pivots = eliminate(K, ca.vertcat(-y, net_force))
        mobility = self._mobility(S)
        force, of_hubs = ca.vertsplit(x, [0, self.n_held, x.shape[0]])
        least = ca.SX(1)
        # Of a constraint that cannot move, pivot and diagonal are rounding error, or zero: fmin would ignore 0 / 0.
        rounding = IMMOVABLE_ROW**2 * sum(mobility, ca.SX(0)) + NO_DIVISION_BY_ZERO
        for i in range(self.n_held):
            least = ca.fmin(least, -pivots[i] / (mobility[i] + rounding))
        return KktSolution(self.rotation.T @ force, of_hubs, least)

    def _mobility(self, S: ca.SX) -> list[ca.SX]:
        """Diagonal of S; for a contact within one module the sum over both sides, which do not cancel as in S.

        Two points of one body do not move relative to each other: what S has there is rounding error.
        """
        mobility = [S[i, i] for i in range(self.n_held)]
        at = 0
        for contact in self.kinematics:
            E, P = contact.sides
            if E.module == P.module and P.module in self._leaves:
                inverse = self._leaves[P.module]["inverse_inertia"]
                alone = [
                    ca.diag(C @ inverse[self._rows_of(side), self._rows_of(side)] @ C.T)
                    for side, C in zip(contact.sides, contact.C, strict=True)
                ]
                mobility[at : at + contact.n_held] = [alone[0][i] + alone[1][i] for i in range(contact.n_held)]
            at += contact.n_held
        return mobility

    def _unit_frictions(self) -> list[ca.SX]:
        """For each sliding contact, a unit of its friction among the forces along the free modes."""
        units = []
        for contact in self.sliding:
            unit = ca.SX(self.n_free, 1)
            unit[contact.slip] = -contact.direction
            units.append(unit)
        return units

    def _less_leaf_response(self, y: ca.SX, free_force: ca.SX) -> ca.SX:
        """y less the acceleration of the leaves under forces along the free modes."""
        wrenches = self.free_wrenches(free_force)
        for name, leaf in self._leaves.items():
            y -= self._C[name] @ (leaf["inverse_inertia"] @ wrenches[name])
        return y

    def _on_hubs(self, free_force: ca.SX) -> ca.SX:
        """Generalised force on the hubs of forces along the free modes."""
        wrenches = self.free_wrenches(free_force)
        return _stacked(hub["J"].T @ wrenches[name] for name, hub in self._hubs.items())

    def _rotated_constraint_matrix(self) -> ca.SX:
        """A in the axes in which the forces are solved for."""
        return ca.horzcat(ca.SX(self.n_held, 0), *(self._C[name] @ hub["J"] for name, hub in self._hubs.items()))

    def _wrenches(self, forces: ca.SX, maps: list[tuple[ca.SX, ca.SX]]) -> dict[str, ca.SX]:
        """Contact forces act by E on P, in the axes of E; virtual power maps them to the points of both sides."""
        wrenches = {name: ca.SX.zeros(m["twists"].shape[0]) for name, m in self._modules.items()}
        parts = ca.vertsplit(forces, [0, *accumulate(m[0].shape[0] for m in maps)])
        for contact, both, force in zip(self.kinematics, maps, parts, strict=True):
            for side, to_relative in zip(contact.sides, both, strict=True):
                if side.module is not None:
                    wrenches[side.module][self._rows_of(side)] += to_relative.T @ force
        return wrenches

    def _constraints(self, module: str) -> ca.SX:
        """C for the points of one module, all contacts."""
        blocks = [ca.SX(0, self._modules[module]["twists"].shape[0])]
        for contact in self.kinematics:
            block = ca.SX(contact.n_held, blocks[0].shape[1])
            for side, C in zip(contact.sides, contact.C, strict=True):
                if side.module == module:
                    block[:, self._rows_of(side)] += C
            blocks.append(block)
        return ca.sparsify(ca.vertcat(*blocks))

    def _rows_of(self, point: ContactPoint) -> slice:
        """Rows of a point among the twists of its module."""
        return slice(point.row, point.row + len(self._rows))

    def _point(self, side: Side) -> ContactPoint:
        if side.grounded:
            zero, position = ca.SX(6, 1), vector(spatial(side.position_m))
            return ContactPoint(None, 0, position, rotation_of_angles(side.rotation_rad), zero, zero)
        module = self._modules[side.module]
        i, d = module.points.index(side.point or ""), len(self._rows)
        rows = slice(d * i, d * (i + 1))
        three = slice(3 * i, 3 * (i + 1))
        acceleration = module["drift" if module.is_hub else "free_acceleration"]
        position = module["positions"][three]
        axes = module["axes"][:, three]
        if d == 3:
            position, axes = _in_plane(position, axes)
        twist = self._spatial(module["twists"][rows])
        acceleration = self._spatial(acceleration[rows])
        return ContactPoint(side.module, d * i, position, axes, twist, acceleration)

    def _spatial(self, twist: ca.SX) -> ca.SX:
        """A twist in six rows."""
        full = ca.SX(6, 1)
        full[self._rows] = twist
        return full


def _sliding_contacts(
    kinematics: list[ContactKinematics], contacts: tuple[Contact, ...], planar: bool, slipping: frozenset[str]
) -> list[SlidingContact]:
    sliding = []
    normal = 0
    free = 0
    for k, contact in zip(kinematics, contacts, strict=True):
        kind, mu = kind_of(contact.kind), kinetic_friction(contact)
        if contact.name in slipping and mu > 0:
            names = tuple(kind.held[j] for j in kind.friction_modes)
            slips = len(directions_in(names, planar))
            direction = direction_of(ca.densify(k.free_velocity[:slips]))
            slip = slice(free, free + slips)
            sliding.append(SlidingContact(contact.name, mu, kind.one_sided, normal, slip, direction))
        normal, free = normal + k.n_held, free + k.n_free
    return sliding


def _first_and_rest(columns: ca.SX) -> tuple[ca.SX, ca.SX]:
    return columns[:, 0], columns[:, 1:]


def _in_plane(position: ca.SX, axes: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Position and axes with the zeros of the plane made structural, so that they cost nothing."""
    rotated = ca.diagcat(axes[:2, :2], ca.SX(1))
    return vector([position[0], position[1], 0]), rotated


def _stacked(parts: Iterator[ca.SX]) -> ca.SX:
    """One dense column, empty if there is nothing to stack."""
    return ca.densify(ca.vertcat(ca.SX(0, 1), *parts))
