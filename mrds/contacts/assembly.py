"""The functions of one contact set, symbolically: the modular level of every module around the global level.

Modules are called one by one through functions of their own (`mrds.operational`), and modules that differ only in name
and placement share one; the global level (`mrds.joined`) is a function of what they show. Vectors of the whole system
are those of its modules, one after the other. What is done to the contacts from outside, their `drive`, is the free
force, the velocity and acceleration along the constrained modes, and the two gains of the drift feedback.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TypeVar

import casadi as ca

from granite.config.contacts import Contact
from granite.config.coordinates import positions, velocities
from granite.config.modules import Module, Point
from granite.mrds.contacts.friction import form
from granite.mrds.joined import Joined, Shown
from granite.mrds.operational import (
    Leaf,
    base_pose,
    hub_function,
    leaf_functions,
    pose_function,
    still_hub_function,
    still_leaf_functions,
)
from granite.mrds.tree import Tree

Symbol = TypeVar("Symbol", ca.SX, ca.MX)
#: a module with this many contacts is a hub, if what it is joined to can resist each of them
MANY = 2
#: one step of Newton's method leaves less than this, or the pose was not near one that fits [m, rad]
NEARLY_CLOSED = 1e-6
#: what is asked of the modules: how they move, what impulses do to them, or only where they are
MOVING, PUSHED, SEEN = "moving", "pushed", "seen"
#: outputs of a leaf that stay at the modular level
INNER = ("kept",)


class Assembly:
    """Functions of the modules under one contact set. `hubs` of them are solved for beside the forces."""

    def __init__(
        self,
        modules: dict[str, Module],
        contacts: tuple[Contact, ...],
        planar: bool,
        hubs: set[str],
        slipping: frozenset[str] = frozenset(),
    ) -> None:
        self._modules, self._hubs = modules, hubs
        self._points, self._planar = {name: _points_of(module, contacts) for name, module in modules.items()}, planar
        self._shown = {
            name: _shown(self._function(name, MOVING), points, name in hubs) for name, points in self._points.items()
        }
        self.joined = Joined(self._shown, contacts, planar, slipping)
        self._n_q = [len(positions(m)) for m in modules.values()]
        self._n_u = [len(velocities(m)) for m in modules.values()]

    @cached_property
    def driven(self) -> ca.Function:
        """(q, u, force, drive) -> u', holding forces, independence (-1 where a contact that slips jams)."""
        x, drive = self._state(), self._drive()
        return ca.Function("driven", [*x, *drive], self._driven([*x, *drive], ca.MX.zeros(self.joined.n_held)))

    @cached_property
    def driven_at(self) -> ca.Function:
        """(q, u, force, drive, place) -> the same where contacts are moved: their gaps count from that place."""
        x, drive, place = self._state(), self._drive(), self._somewhere()
        return ca.Function("driven_at", [*x, *drive, place], self._driven([*x, *drive], place))

    def _driven(self, given: list[ca.MX], place: ca.MX) -> list[ca.MX]:
        """u', holding forces, independence."""
        return self._accelerated(self._driven_level, given[:3], [*given[3:], *self._placed(place)])

    def _accelerated(self, level: ca.Function, x: list[ca.MX], drive: list[ca.MX]) -> list[ca.MX]:
        """u', holding forces, independence, as a global level has it."""
        shown = self._modular(*x)
        force, independence, of_hubs, *pushes = level.call([*self._facts(shown), *drive])
        return [self._moved(shown, of_hubs, pushes, MOVING), force, independence]

    @cached_property
    def _driven_level(self) -> ca.Function:
        """What holds the contacts while something is done to them from outside."""
        drive = [*self.joined.drive, *self._placed(self.joined.place)]
        outputs, wrenches = self._holding()
        return self._level("driven_level", drive, outputs, wrenches)

    @cached_property
    def _left_alone_level(self) -> ca.Function:
        """The same while nothing is: all that the drive would do costs nothing."""
        drive = [*self.joined.drive, self.joined.place]
        outputs, wrenches = self._holding()
        quiet = ca.substitute([*outputs, *wrenches.values()], drive, [ca.SX.zeros(*d.shape) for d in drive])
        parts = dict(zip(wrenches, quiet[len(outputs) :], strict=True))
        return self._level("left_alone_level", [], quiet[: len(outputs)], parts)

    def _holding(self) -> tuple[list[ca.SX], dict[str, ca.SX]]:
        """Holding forces, independence and accelerations of the hubs; the wrenches of all contacts on each module."""
        joined = self.joined
        held, free_force = joined.held_by_friction(joined.solve(joined.turned_demand(), joined.net_force()))
        free = joined.free_wrenches(free_force)
        wrenches = {n: w + free[n] for n, w in joined.held_wrenches(held.force).items()}
        return [held.force, held.independence, held.acceleration], wrenches

    @cached_property
    def correct(self) -> ca.Function:
        """(q, y) -> the change of u that changes the constrained velocities by y, smallest in the metric of the masses;
        the impulses that make it; independence."""
        (q, u, _), y = self._state(), ca.MX.sym("y", self.joined.n_held)
        return ca.Function("correct", [q, y], self._corrected(self._modular(q, ca.MX.zeros(*u.shape), of=PUSHED), y))

    @cached_property
    def errors(self) -> ca.Function:
        """(q, u, velocity) -> gap, slip."""
        (q, u, _), velocity = self._state(), ca.MX.sym("xd_c", self.joined.n_held)
        still = ca.MX.zeros(self.joined.n_held)
        return ca.Function("errors", [q, u, velocity], self._errors(self._modular(q, u, of=SEEN), velocity, still))

    @cached_property
    def errors_at(self) -> ca.Function:
        """(q, u, velocity, place) -> gap, slip where contacts are moved."""
        (q, u, _), velocity, place = self._state(), ca.MX.sym("xd_c", self.joined.n_held), self._somewhere()
        errors = self._errors(self._modular(q, u, of=SEEN), velocity, place)
        return ca.Function("errors_at", [q, u, velocity, place], errors)

    @cached_property
    def rate(self) -> ca.Function:
        """(q, u) -> q'."""
        q, u, _ = self._state()
        parts = zip(self._modules.values(), self._split(q, self._n_q), self._split(u, self._n_u), strict=True)
        return ca.Function("rate", [q, u], [ca.vertcat(*(_rate(_anonymous(m))(*x) for m, *x in parts))])

    @cached_property
    def normalised(self) -> ca.Function:
        """q with every quaternion at unit length again."""
        q = self._state()[0]
        parts = zip(self._modules.values(), self._split(q, self._n_q), strict=True)
        return ca.Function("normalised", [q], [ca.vertcat(*(_normalised(_anonymous(m))(x) for m, x in parts))])

    def accelerate(self) -> ca.Function:
        """(q, u, force) -> u', holding forces, independence: nothing is done to the contacts from outside."""
        return self._left_alone

    @cached_property
    def _left_alone(self) -> ca.Function:
        x = self._state()
        return ca.Function("accelerate", x, self._accelerated(self._left_alone_level, x, []))

    @cached_property
    def borne(self) -> ca.Function:
        """(q, u, free force, holding forces) -> wrench by E on P of each contact, at P in world axes; power of all."""
        (q, u, _), joined = self._state(), self.joined
        held = ca.SX.sym("F_c", joined.n_held)
        outputs = [joined.contact_wrenches(held), joined.contact_power(held)]
        level = self._level("borne_level", [joined.free_force, held], outputs)
        free_force, force = ca.MX.sym("F_u", joined.n_free), ca.MX.sym("F_c", joined.n_held)
        facts = self._facts(self._modular(q, u))
        return ca.Function("borne", [q, u, free_force, force], level.call([*facts, free_force, force]))

    @cached_property
    def grasps(self) -> ca.Function:
        """q -> for every module the matrix from its twist, frozen in its pose, to the constrained velocities."""
        q, u, _ = self._state()
        level = self._level("grasp_level", [], [self.joined.grasp_matrix(name) for name in self._modules], of=SEEN)
        facts = self._facts(self._modular(q, ca.MX.zeros(*u.shape), of=SEEN), SEEN)
        return ca.Function("grasps", [q], level.call(facts))

    def rk4(self, name: str, project: bool) -> ca.Function:
        """(q, u, force, h) -> q, u after h, independence: nothing is done to the contacts from outside."""
        still, h = ca.MX.zeros(self.joined.n_held), ca.MX.sym("h")
        x = self._state()
        outputs = self._rk4(x, h, lambda column, at: self._left_alone.call(at), (still, still) if project else None)
        return ca.Function(name, [*x, h], outputs)

    def rk4_driven(self, name: str, project: bool) -> ca.Function:
        """(q, u, force, h, drive, place) -> q, u after h, independence.

        What is done to the contacts comes in three columns: at the start, in the middle and at the end of the step.
        """
        x, (*drive, feedback), h = self._state(), self._drive(3), ca.MX.sym("h")
        place = ca.MX.sym("x_c", self.joined.n_held, 3)

        def driven(column: int, at: list[ca.MX]) -> list[ca.MX]:
            return self.driven_at.call([*at, *(d[:, column] for d in drive), feedback, place[:, column]])

        outputs = self._rk4(x, h, driven, (drive[1][:, 2], place[:, 2]) if project else None)
        return ca.Function(name, [*x, h, *drive, feedback, place], outputs)

    def _rk4(
        self,
        x: list[ca.MX],
        h: ca.MX,
        accelerate: Callable[[int, list[ca.MX]], list[ca.MX]],
        project: tuple[ca.MX, ca.MX] | None,
    ) -> list[ca.MX]:
        """q, u, independence after four stages, put back to a velocity and a place if there are such."""
        q, u, force = x
        rates: list[tuple[ca.MX, ca.MX]] = []
        independence = ca.MX(1)
        for column, part in ((0, 0.0), (1, 0.5), (1, 0.5), (2, 1.0)):
            at_q, at_u = (q, u) if not rates else (q + part * h * rates[-1][0], u + part * h * rates[-1][1])
            u_dot, _, least = accelerate(column, [at_q, at_u, force])
            rates.append((self.rate(at_q, at_u), u_dot))
            independence = ca.fmin(independence, least)
        q_after, u_after = (
            x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            for x, (k1, k2, k3, k4) in zip((q, u), zip(*rates, strict=True), strict=True)
        )
        q_after = self.normalised(q_after)
        if project:
            q_after, u_after, least = self.projected(q_after, u_after, *project)
            independence = ca.fmin(independence, least)
        return [q_after, u_after, independence]

    def dense(self) -> ca.Function:
        """(q, u, force, drive, place) -> M, f, A, y of M u' = f + A^T F_c and A u' = y. Only where all are hubs.

        More columns of f and y are what a unit of friction adds, for each contact that slips.
        """
        joined = self.joined
        outputs = [joined.mass_matrix(), joined.net_force(), joined.constraint_matrix(), joined.demand()]
        level = self._level("dense_level", [*joined.drive, *self._placed(joined.place)], outputs)
        x, drive, place = self._state(), self._drive(), self._somewhere()
        facts = [*self._facts(self._modular(*x)), *drive, *self._placed(place)]
        return ca.Function("dense", [*x, *drive, place], level.call(facts))

    def projected(self, q: ca.MX, u: ca.MX, velocity: ca.MX, place: ca.MX | None = None) -> tuple[ca.MX, ca.MX, ca.MX]:
        """One Newton step onto the pose, which squares an error that one step of integration left; then the velocity,
        in which the constraints are linear. Independence is zero where the pose is not closed by that."""
        shown, place = self._modular(q, u, of=PUSHED), ca.MX.zeros(self.joined.n_held) if place is None else place
        change, _, least = self._corrected(shown, -self._errors(shown, velocity, place)[0])
        q = self.normalised(q + self.rate(q, change))
        shown = self._modular(q, u, of=PUSHED)
        gap, slip = self._errors(shown, velocity, place)
        change, _, least_there = self._corrected(shown, -slip)
        closed = ca.mmax(ca.fabs(gap)) < NEARLY_CLOSED if self.joined.n_held else ca.MX(1)
        return q, u + change, ca.if_else(closed, ca.fmin(least, least_there), 0)

    def _errors(self, shown: dict[str, dict[str, ca.MX]], velocity: ca.MX, place: ca.MX) -> list[ca.MX]:
        """Gap and slip."""
        return list(self._error_level.call([*self._facts(shown, SEEN), velocity, *self._placed(place)]))

    def _corrected(self, shown: dict[str, dict[str, ca.MX]], y: ca.MX) -> list[ca.MX]:
        """Change of u, impulses, independence."""
        impulse, independence, of_hubs, *pushes = self._correction_level.call([*self._facts(shown, PUSHED), y])
        return [self._moved(shown, of_hubs, pushes, PUSHED), impulse, independence]

    @cached_property
    def _error_level(self) -> ca.Function:
        joined = self.joined
        extra = [joined.velocity, *self._placed(joined.place)]
        return self._level("error_level", extra, [joined.gap, joined.slip], of=SEEN)

    @cached_property
    def _correction_level(self) -> ca.Function:
        joined, y = self.joined, ca.SX.sym("y", self.joined.n_held)
        held = joined.solve(joined.turn @ y, ca.SX.zeros(joined.net_force().shape[0]))
        outputs = [held.force, held.independence, held.acceleration]
        return self._level("correction_level", [y], outputs, joined.held_wrenches(held.force), PUSHED)

    def _state(self) -> list[ca.MX]:
        """q, u and force."""
        return [ca.MX.sym("q", sum(self._n_q)), ca.MX.sym("u", sum(self._n_u)), ca.MX.sym("force", sum(self._n_u))]

    def _drive(self, columns: int = 1) -> list[ca.MX]:
        """Free force, velocity and prescribed acceleration, feedback."""
        n_held, n_free = self.joined.n_held, self.joined.n_free
        sizes = {"F_u": n_free, "xd_c": n_held, "xdd_c": n_held}
        return [*(ca.MX.sym(name, n, columns) for name, n in sizes.items()), ca.MX.sym("feedback", 2)]

    def _somewhere(self) -> ca.MX:
        return ca.MX.sym("x_c", self.joined.n_held)

    def _placed(self, place: Symbol) -> list[Symbol]:
        """The place, for the levels of a set in which a contact is moved: the others do not ask for it."""
        return [place] if self.joined.is_moved else []

    def _function(self, name: str, of: str) -> ca.Function:
        """What a module shows."""
        module = _anonymous(self._modules[name]), self._points[name], self._planar
        if of == SEEN:
            return _pose_function(*module)
        return _hub_function(*module, of) if name in self._hubs else _leaf(*module, of).shows

    def _moves(self, name: str, of: str) -> ca.Function:
        """How a leaf moves once its wrenches are known."""
        return _leaf(_anonymous(self._modules[name]), self._points[name], self._planar, of).moves

    def _modular(
        self, q: ca.MX, u: ca.MX, force: ca.MX | None = None, *, of: str = MOVING
    ) -> dict[str, dict[str, ca.MX]]:
        """What every module shows, by name of output."""
        force = ca.MX.zeros(*u.shape) if force is None else force
        parts = self._split(q, self._n_q), self._split(u, self._n_u), self._split(force, self._n_u)
        shown = {}
        for (name, module), *x in zip(self._modules.items(), *parts, strict=True):
            function = self._function(name, of)
            shown[name] = dict(zip(function.name_out(), function.call([*x, base_pose(module)]), strict=True))
        return shown

    def _level(
        self,
        name: str,
        extra: list[ca.SX],
        outputs: list[ca.SX],
        wrenches: dict[str, ca.SX] | None = None,
        of: str = MOVING,
    ) -> ca.Function:
        """A function of the global level: (what the modules show, extra) -> outputs, wrenches on the leaves."""
        pushes = [w for module, w in (wrenches or {}).items() if module not in self._hubs]
        inputs = self._facts({module: s.symbols for module, s in self._shown.items()}, of)
        return ca.Function(name, [*inputs, *extra], [ca.densify(x) for x in (*outputs, *pushes)], {"cse": True})

    def _facts(self, shown: dict[str, dict[str, Symbol]], of: str = MOVING) -> list[Symbol]:
        """What the modules show, as a global level takes it."""
        return [
            outputs[name]
            for module, outputs in shown.items()
            for name in self._function(module, of).name_out()
            if name not in INNER
        ]

    def _moved(self, shown: dict[str, dict[str, ca.MX]], of_hubs: ca.MX, pushes: list[ca.MX], of: str) -> ca.MX:
        """Leaves move by the wrenches on them; what hubs do is known already."""
        hubs = iter(self._split(of_hubs, [n for m, n in zip(shown, self._n_u, strict=True) if m in self._hubs]))
        wrench = iter(pushes)
        return ca.vertcat(
            *(
                next(hubs) if name in self._hubs else self._moves(name, of)(s["kept"], next(wrench))
                for name, s in shown.items()
            )
        )

    @staticmethod
    def _split(stacked: ca.MX, sizes: list[int]) -> list[ca.MX]:
        return list(ca.vertsplit(stacked, [0, *accumulate(sizes)]))


def hubs(
    modules: dict[str, Module], contacts: tuple[Contact, ...], planar: bool, slipping: frozenset[str] = frozenset()
) -> set[str]:
    """Modules with many contacts, each to a module with enough freedom to resist all that it holds by itself."""
    count = Counter(name for c in contacts for name in {c.first.module, c.second.module})
    load: Counter[str] = Counter()
    for contact in contacts:
        for name in {contact.first.module, contact.second.module}:
            load[name] += form(contact, contact.name in slipping).n_held(contact.parameters, planar)
    crowded = {name for name in modules if count[name] >= MANY}

    def resisted(contact: Contact, hub: str) -> bool:
        other = contact.second.module if contact.first.module == hub else contact.first.module
        if other == hub or other not in modules or other in crowded:
            return False
        return len(velocities(modules[other])) >= load[other]

    return {h for h in crowded if all(resisted(c, h) for c in contacts if h in (c.first.module, c.second.module))}


def _points_of(module: Module, contacts: tuple[Contact, ...]) -> tuple[Point, ...]:
    used = {side.point for c in contacts for side in (c.first, c.second) if side.module == module.name}
    return tuple(p for p in module.points if p.name in used)


def _shown(function: ca.Function, points: tuple[Point, ...], is_hub: bool) -> Shown:
    symbols = {name: ca.SX.sym(name, *function.size_out(name)) for name in function.name_out() if name not in INNER}
    return Shown(tuple(p.name for p in points), is_hub, symbols)


def _anonymous(module: Module) -> Module:
    """The module without name and placement: those that are then equal share one function."""
    return module.model_copy(update={"name": "module", "placement_m": (0.0, 0.0), "placement_rad": (0.0, 0.0, 0.0)})


@lru_cache(maxsize=256)
def _leaf(module: Module, points: tuple[Point, ...], planar: bool, of: str) -> Leaf:
    return {MOVING: leaf_functions, PUSHED: still_leaf_functions}[of](module, points, planar)


@lru_cache(maxsize=256)
def _hub_function(module: Module, points: tuple[Point, ...], planar: bool, of: str) -> ca.Function:
    return {MOVING: hub_function, PUSHED: still_hub_function}[of](module, points, planar)


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
