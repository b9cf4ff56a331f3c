"""The functions of one contact set, in symbols: the modular level of every module around the global level.

Modules are called one by one through functions of their own (`mrds.contacts.operational`), and modules that differ only
in name and placement share one; the global level (`mrds.contacts.global_level`) is a function of their outputs. Vectors
of the whole system are those of its modules, one after the other. The `drive` of the contacts is the free force, the
prescribed velocity and acceleration along the constrained modes, and the two gains of Baumgarte stabilisation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum, auto
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TypeVar

import casadi as ca

from granite.config.contacts import Contact
from granite.config.coordinates import positions, velocities
from granite.config.modules import Module, Point
from granite.mrds.contacts.friction import form
from granite.mrds.contacts.global_level import GlobalLevel, ModuleSymbols
from granite.mrds.contacts.operational import (
    Leaf,
    base_pose,
    hub_function,
    hub_impulse_function,
    leaf_functions,
    leaf_impulse_functions,
    pose_function,
)
from granite.mrds.integrators import rk4
from granite.mrds.tolerances import NEWTON_GAP
from granite.mrds.tree import Tree

Symbol = TypeVar("Symbol", ca.SX, ca.MX)
#: outputs of the modules by name, module by module
Outputs = dict[str, dict[str, ca.MX]]
#: a module with this many contacts is a hub, if each of its neighbours has enough freedom to resist
MIN_HUB_CONTACTS = 2
#: outputs of a leaf that stay at the modular level
LOCAL_OUTPUTS = ("factors",)


class Terms(Enum):
    """Which terms of the modules a function needs."""

    DYNAMICS = auto()  #: kinematics, inertia and forces
    IMPULSE = auto()  #: kinematics and inertia
    KINEMATICS = auto()


class Assembly:
    """Functions of the modules under one contact set.

    Parameters
    ----------
    modules, contacts
        All modules, and the closed contacts.
    planar
        Whether twists have 3 rows, not 6.
    hubs
        Modules whose accelerations are solved for beside the contact forces; all others are eliminated.
    slipping
        Closed contacts that slide under friction.
    """

    def __init__(
        self,
        modules: dict[str, Module],
        contacts: tuple[Contact, ...],
        planar: bool,
        hubs: set[str],
        slipping: frozenset[str] = frozenset(),
    ) -> None:
        self._modules = modules
        self._hubs = hubs
        self._points = {name: _points_of(module, contacts) for name, module in modules.items()}
        self._planar = planar
        self._symbols = {
            name: _symbols(self._function(name, Terms.DYNAMICS), points, name in hubs)
            for name, points in self._points.items()
        }
        self.level = GlobalLevel(self._symbols, contacts, planar, slipping)
        self._n_q = [len(positions(m)) for m in modules.values()]
        self._n_u = [len(velocities(m)) for m in modules.values()]

    @cached_property
    def accelerate(self) -> ca.Function:
        """(q, u, force) -> u', constraint forces, independence: without a drive, whose terms then cost nothing."""
        x = self._state()
        return ca.Function("accelerate", x, self._accelerated(self._undriven_level, x, []))

    @cached_property
    def driven(self) -> ca.Function:
        """(q, u, force, drive, displacement) -> u', constraint forces, independence.

        Independence is -1 where a contact that slides jams.
        """
        x = self._state()
        drive = self._drive()
        displacement = self._displacement()
        outputs = self._accelerated(self._driven_level, x, [*drive, *self._if_moved(displacement)])
        return ca.Function("driven", [*x, *drive, displacement], outputs)

    @cached_property
    def correct(self) -> ca.Function:
        """(q, y) -> the change of u that changes the constrained velocities by y, smallest in the metric of the mass
        matrix; its impulses; independence."""
        (q, u, _), y = self._state(), ca.MX.sym("y", self.level.n_held)
        outputs = self._modular(q, ca.MX.zeros(*u.shape), terms=Terms.IMPULSE)
        return ca.Function("correct", [q, y], self._corrected(outputs, y))

    @cached_property
    def errors(self) -> ca.Function:
        """(q, u, velocity, displacement) -> gap, slip."""
        (q, u, _) = self._state()
        velocity = ca.MX.sym("xd_c", self.level.n_held)
        displacement = self._displacement()
        errors = self._errors(self._modular(q, u, terms=Terms.KINEMATICS), velocity, displacement)
        return ca.Function("errors", [q, u, velocity, displacement], errors)

    @cached_property
    def free_velocity(self) -> ca.Function:
        """(q, u) -> velocities along the free modes."""
        (q, u, _), kinematics = self._state(), Terms.KINEMATICS
        velocity = ca.vertcat(ca.SX(0, 1), *(contact.free_velocity for contact in self.level.kinematics))
        function = self._level_function("free_level", [], [velocity], terms=kinematics)
        inputs = self._level_inputs(self._modular(q, u, terms=kinematics), kinematics)
        return ca.Function("free_velocity", [q, u], function.call(inputs))

    @cached_property
    def rate(self) -> ca.Function:
        """(q, u) -> q'."""
        q, u, _ = self._state()
        parts = zip(self._modules.values(), self._split(q, self._n_q), self._split(u, self._n_u), strict=True)
        return ca.Function("rate", [q, u], [ca.vertcat(*(_rate(_anonymous(m))(*x) for m, *x in parts))])

    @cached_property
    def normalised(self) -> ca.Function:
        """q -> q with every quaternion normalised."""
        q = self._state()[0]
        parts = zip(self._modules.values(), self._split(q, self._n_q), strict=True)
        return ca.Function("normalised", [q], [ca.vertcat(*(_normalised(_anonymous(m))(x) for m, x in parts))])

    @cached_property
    def loads(self) -> ca.Function:
        """(q, u, free force, constraint forces) -> wrench by E on P of each contact, at P in world axes; power."""
        (q, u, _), level, kinematics = self._state(), self.level, Terms.KINEMATICS
        held = ca.SX.sym("F_c", level.n_held)
        outputs = [level.contact_wrenches(held), level.contact_power(held)]
        function = self._level_function("loads_level", [level.free_force, held], outputs, terms=kinematics)
        free_force = ca.MX.sym("F_u", level.n_free)
        force = ca.MX.sym("F_c", level.n_held)
        inputs = self._level_inputs(self._modular(q, u, terms=kinematics), kinematics)
        return ca.Function("loads", [q, u, free_force, force], function.call([*inputs, free_force, force]))

    @cached_property
    def internal_forces(self) -> ca.Function:
        """(q, constraint forces) -> for every module the part of them that neither pushes nor turns it."""
        (q, u, _), kinematics = self._state(), Terms.KINEMATICS
        held = ca.SX.sym("F_c", self.level.n_held)
        force = ca.MX.sym("F_c", self.level.n_held)
        parts = [self.level.internal_force(name, held) for name in self._modules]
        function = self._level_function("internal_level", [held], parts, terms=kinematics)
        inputs = self._level_inputs(self._modular(q, ca.MX.zeros(*u.shape), terms=kinematics), kinematics)
        return ca.Function("internal_forces", [q, force], function.call([*inputs, force]))

    def dense(self) -> ca.Function:
        """(q, u, force, drive, displacement) -> M, f, A, y of M u' = f + A^T F_c and A u' = y; all modules are hubs.

        Further columns of f and y belong to a unit of friction of each sliding contact.
        """
        level = self.level
        outputs = [level.mass_matrix(), level.net_force(), level.constraint_matrix(), level.constraint_rhs()]
        function = self._level_function("dense_level", [*level.drive, *self._if_moved(level.displacement)], outputs)
        x = self._state()
        drive = self._drive()
        displacement = self._displacement()
        inputs = [*self._level_inputs(self._modular(*x)), *drive, *self._if_moved(displacement)]
        return ca.Function("dense", [*x, *drive, displacement], function.call(inputs))

    def rk4(self, name: str, project: bool) -> ca.Function:
        """(q, u, force, h) -> q, u after h, independence: without a drive."""
        zero, h = ca.MX.zeros(self.level.n_held), ca.MX.sym("h")
        q, u, force = self._state()

        def accelerate(at_q: ca.MX, at_u: ca.MX, part: float) -> list[ca.MX]:
            return list(self.accelerate.call([at_q, at_u, force]))

        outputs = self._rk4(q, u, h, accelerate, (zero, zero) if project else None)
        return ca.Function(name, [q, u, force, h], outputs)

    def rk4_driven(self, name: str, project: bool) -> ca.Function:
        """(q, u, force, h, drive, displacement) -> q, u after h, independence.

        The drive has three columns: at the start, in the middle and at the end of the step.
        """
        (q, u, force) = self._state()
        (*drive, feedback) = self._drive(3)
        h = ca.MX.sym("h")
        displacement = ca.MX.sym("x_c", self.level.n_held, 3)

        def accelerate(at_q: ca.MX, at_u: ca.MX, part: float) -> list[ca.MX]:
            now = round(2 * part)
            columns = (d[:, now] for d in drive)
            return list(self.driven.call([at_q, at_u, force, *columns, feedback, displacement[:, now]]))

        outputs = self._rk4(q, u, h, accelerate, (drive[1][:, 2], displacement[:, 2]) if project else None)
        return ca.Function(name, [q, u, force, h, *drive, feedback, displacement], outputs)

    def _rk4(
        self,
        q: ca.MX,
        u: ca.MX,
        h: ca.MX,
        accelerate: Callable[[ca.MX, ca.MX, float], list[ca.MX]],
        project: tuple[ca.MX, ca.MX] | None,
    ) -> list[ca.MX]:
        """q, u, independence after a step, projected to a prescribed velocity and displacement if these are given."""
        n_q, independence = q.shape[0], [ca.MX(1)]

        def rate(x: ca.MX, part: float) -> ca.MX:
            at_q, at_u = x[:n_q], x[n_q:]
            u_dot, _, least = accelerate(at_q, at_u, part)
            independence.append(least)
            return ca.vertcat(self.rate(at_q, at_u), u_dot)

        after = rk4(rate, ca.vertcat(q, u), h)
        q, u = self.normalised(after[:n_q]), after[n_q:]
        if project:
            q, u, least = self.project(q, u, *project)
            independence.append(least)
        least = independence[0]
        for another in independence[1:]:
            least = ca.fmin(least, another)
        return [q, u, least]

    def project(self, q: ca.MX, u: ca.MX, velocity: ca.MX, displacement: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        """One Newton step of the pose, which squares the error of an integration step; then the velocity, in which the
        constraints are linear. Independence is zero where the pose does not satisfy the constraints afterwards."""
        outputs = self._modular(q, u, terms=Terms.IMPULSE)
        change, _, least = self._corrected(outputs, -self._errors(outputs, velocity, displacement)[0])
        q = self.normalised(q + self.rate(q, change))
        outputs = self._modular(q, u, terms=Terms.IMPULSE)
        gap, slip = self._errors(outputs, velocity, displacement)
        change, _, least_there = self._corrected(outputs, -slip)
        closed = ca.mmax(ca.fabs(gap)) < NEWTON_GAP if self.level.n_held else ca.MX(1)
        return q, u + change, ca.if_else(closed, ca.fmin(least, least_there), 0)

    def _accelerated(self, level: ca.Function, x: list[ca.MX], drive: list[ca.MX]) -> list[ca.MX]:
        """u', constraint forces, independence, by a function of the global level."""
        outputs = self._modular(*x)
        force, independence, of_hubs, *wrenches = level.call([*self._level_inputs(outputs), *drive])
        return [self._back_substituted(outputs, of_hubs, wrenches, Terms.DYNAMICS), force, independence]

    def _errors(self, outputs: Outputs, velocity: ca.MX, displacement: ca.MX) -> list[ca.MX]:
        """Gap and slip."""
        inputs = self._level_inputs(outputs, Terms.KINEMATICS)
        return list(self._error_level.call([*inputs, velocity, *self._if_moved(displacement)]))

    def _corrected(self, outputs: Outputs, y: ca.MX) -> list[ca.MX]:
        """Change of u, impulses, independence."""
        inputs = self._level_inputs(outputs, Terms.IMPULSE)
        impulse, independence, of_hubs, *wrenches = self._correction_level.call([*inputs, y])
        return [self._back_substituted(outputs, of_hubs, wrenches, Terms.IMPULSE), impulse, independence]

    @cached_property
    def _driven_level(self) -> ca.Function:
        """Constraint forces under a drive."""
        drive = [*self.level.drive, *self._if_moved(self.level.displacement)]
        outputs, wrenches = self._solution()
        return self._level_function("driven_level", drive, outputs, wrenches)

    @cached_property
    def _undriven_level(self) -> ca.Function:
        """The same with a drive of zero, substituted so that its terms vanish."""
        drive = [*self.level.drive, self.level.displacement]
        outputs, wrenches = self._solution()
        undriven = ca.substitute([*outputs, *wrenches.values()], drive, [ca.SX.zeros(*d.shape) for d in drive])
        parts = dict(zip(wrenches, undriven[len(outputs) :], strict=True))
        return self._level_function("undriven_level", [], undriven[: len(outputs)], parts)

    def _solution(self) -> tuple[list[ca.SX], dict[str, ca.SX]]:
        """Constraint forces, independence and accelerations of the hubs; wrenches of all contacts on each module."""
        level = self.level
        solution, free_force = level.with_friction(level.solve(level.rotated_constraint_rhs(), level.net_force()))
        free = level.free_wrenches(free_force)
        wrenches = {n: w + free[n] for n, w in level.held_wrenches(solution.force).items()}
        return [solution.force, solution.independence, solution.acceleration], wrenches

    @cached_property
    def _error_level(self) -> ca.Function:
        level = self.level
        extra = [level.velocity, *self._if_moved(level.displacement)]
        return self._level_function("error_level", extra, [level.gap, level.slip], terms=Terms.KINEMATICS)

    @cached_property
    def _correction_level(self) -> ca.Function:
        level, y = self.level, ca.SX.sym("y", self.level.n_held)
        solution = level.solve(level.rotation @ y, ca.SX.zeros(level.net_force().shape[0]))
        outputs = [solution.force, solution.independence, solution.acceleration]
        wrenches = level.held_wrenches(solution.force)
        return self._level_function("correction_level", [y], outputs, wrenches, Terms.IMPULSE)

    def _state(self) -> list[ca.MX]:
        """q, u and force."""
        return [ca.MX.sym("q", sum(self._n_q)), ca.MX.sym("u", sum(self._n_u)), ca.MX.sym("force", sum(self._n_u))]

    def _drive(self, columns: int = 1) -> list[ca.MX]:
        """Free force, prescribed velocity and acceleration, gains."""
        n_held, n_free = self.level.n_held, self.level.n_free
        sizes = {"F_u": n_free, "xd_c": n_held, "xdd_c": n_held}
        return [*(ca.MX.sym(name, n, columns) for name, n in sizes.items()), ca.MX.sym("feedback", 2)]

    def _displacement(self) -> ca.MX:
        return ca.MX.sym("x_c", self.level.n_held)

    def _if_moved(self, displacement: Symbol) -> list[Symbol]:
        """The displacement, if a contact of the set has a prescribed motion: otherwise no level has this input."""
        return [displacement] if self.level.has_motion else []

    def _function(self, name: str, terms: Terms) -> ca.Function:
        """The function of a module at the modular level."""
        module = _anonymous(self._modules[name]), self._points[name], self._planar
        if terms is Terms.KINEMATICS:
            return _pose_function(*module)
        return _hub_function(*module, terms) if name in self._hubs else _leaf(*module, terms).eliminate

    def _back_substitution(self, name: str, terms: Terms) -> ca.Function:
        return _leaf(_anonymous(self._modules[name]), self._points[name], self._planar, terms).back_substitute

    def _modular(self, q: ca.MX, u: ca.MX, force: ca.MX | None = None, *, terms: Terms = Terms.DYNAMICS) -> Outputs:
        """Outputs of every module at the modular level."""
        force = ca.MX.zeros(*u.shape) if force is None else force
        parts = self._split(q, self._n_q), self._split(u, self._n_u), self._split(force, self._n_u)
        outputs = {}
        for (name, module), *x in zip(self._modules.items(), *parts, strict=True):
            function = self._function(name, terms)
            outputs[name] = dict(zip(function.name_out(), function.call([*x, base_pose(module)]), strict=True))
        return outputs

    def _level_function(
        self,
        name: str,
        extra: list[ca.SX],
        outputs: list[ca.SX],
        wrenches: dict[str, ca.SX] | None = None,
        terms: Terms = Terms.DYNAMICS,
    ) -> ca.Function:
        """A function of the global level: (outputs of the modules, extra) -> outputs, wrenches on the leaves."""
        on_leaves = [w for module, w in (wrenches or {}).items() if module not in self._hubs]
        inputs = self._level_inputs({module: s.symbols for module, s in self._symbols.items()}, terms)
        return ca.Function(name, [*inputs, *extra], [ca.densify(x) for x in (*outputs, *on_leaves)], {"cse": True})

    def _level_inputs(self, outputs: dict[str, dict[str, Symbol]], terms: Terms = Terms.DYNAMICS) -> list[Symbol]:
        """Outputs of the modules in the order in which a function of the global level takes them."""
        return [
            of_module[name]
            for module, of_module in outputs.items()
            for name in self._function(module, terms).name_out()
            if name not in LOCAL_OUTPUTS
        ]

    def _back_substituted(self, outputs: Outputs, of_hubs: ca.MX, wrenches: list[ca.MX], terms: Terms) -> ca.MX:
        """u' of all modules: of leaves by back-substitution of the wrenches on them, of hubs as solved."""
        hubs = iter(self._split(of_hubs, [n for m, n in zip(outputs, self._n_u, strict=True) if m in self._hubs]))
        wrench = iter(wrenches)
        return ca.vertcat(
            *(
                next(hubs) if name in self._hubs else self._back_substitution(name, terms)(o["factors"], next(wrench))
                for name, o in outputs.items()
            )
        )

    @staticmethod
    def _split(stacked: ca.MX, sizes: list[int]) -> list[ca.MX]:
        return list(ca.vertsplit(stacked, [0, *accumulate(sizes)]))


def hubs(
    modules: dict[str, Module], contacts: tuple[Contact, ...], planar: bool, slipping: frozenset[str] = frozenset()
) -> set[str]:
    """Modules with many contacts, each to a module with enough freedom to resist all of its own constraints.

    Such a module is kept as a hub because eliminating it would couple the contacts of all its neighbours. The condition
    on the neighbours keeps S positive definite: each of its constraints is resisted by a leaf that can move.
    """
    count = Counter(name for c in contacts for name in {c.first.module, c.second.module})
    load: Counter[str] = Counter()
    for contact in contacts:
        for name in {contact.first.module, contact.second.module}:
            load[name] += form(contact, contact.name in slipping).n_held(contact.parameters, planar)
    crowded = {name for name in modules if count[name] >= MIN_HUB_CONTACTS}

    def resisted(contact: Contact, hub: str) -> bool:
        other = contact.second.module if contact.first.module == hub else contact.first.module
        if other == hub or other not in modules or other in crowded:
            return False
        return len(velocities(modules[other])) >= load[other]

    return {h for h in crowded if all(resisted(c, h) for c in contacts if h in (c.first.module, c.second.module))}


def _points_of(module: Module, contacts: tuple[Contact, ...]) -> tuple[Point, ...]:
    used = {side.point for c in contacts for side in (c.first, c.second) if side.module == module.name}
    return tuple(p for p in module.points if p.name in used)


def _symbols(function: ca.Function, points: tuple[Point, ...], is_hub: bool) -> ModuleSymbols:
    outputs = [name for name in function.name_out() if name not in LOCAL_OUTPUTS]
    symbols = {name: ca.SX.sym(name, *function.size_out(name)) for name in outputs}
    return ModuleSymbols(tuple(p.name for p in points), is_hub, symbols)


def _anonymous(module: Module) -> Module:
    """The module without name and placement: modules that are then equal share one function."""
    return module.model_copy(update={"name": "module", "placement_m": (0.0, 0.0), "placement_rad": (0.0, 0.0, 0.0)})


@lru_cache(maxsize=256)
def _leaf(module: Module, points: tuple[Point, ...], planar: bool, terms: Terms) -> Leaf:
    functions = {Terms.DYNAMICS: leaf_functions, Terms.IMPULSE: leaf_impulse_functions}
    return functions[terms](module, points, planar)


@lru_cache(maxsize=256)
def _hub_function(module: Module, points: tuple[Point, ...], planar: bool, terms: Terms) -> ca.Function:
    functions = {Terms.DYNAMICS: hub_function, Terms.IMPULSE: hub_impulse_function}
    return functions[terms](module, points, planar)


@lru_cache(maxsize=256)
def _pose_function(module: Module, points: tuple[Point, ...], planar: bool) -> ca.Function:
    return pose_function(module, points, planar)


@lru_cache(maxsize=256)
def _rate(module: Module) -> ca.Function:
    tree = Tree(module)
    return ca.Function("rate", [tree.q, tree.u], [ca.densify(tree.q_dot)])


@lru_cache(maxsize=256)
def _normalised(module: Module) -> ca.Function:
    tree = Tree(module)
    return ca.Function("normalised", [tree.q], [ca.densify(tree.projected())])
