"""The functions of one contact set, symbolically: the modular level of every module around the global level.

Modules are called one by one through functions of their own (`mrds.operational`), and modules that differ only in name
and placement share one; the global level (`mrds.joined`) is a function of what they show. Vectors of the whole system
are those of its modules, one after the other. What is done to the contacts from outside, their `drive`, is the free
force, the velocity and acceleration along the constrained modes, and the two gains of the drift feedback.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property, lru_cache
from itertools import accumulate

import casadi as ca

from config.contacts import Contact
from config.coordinates import positions, velocities
from config.modules import Module, Point
from mrds.contacts import KINDS
from mrds.joined import Joined, Shown
from mrds.operational import base_pose, hub_function, leaf_function
from mrds.tree import Tree

#: a module with this many contacts is a hub, if what it is joined to can resist each of them
MANY = 2
#: outputs of a leaf that stay at the modular level
INNER = ("u_open", "Psi")


class Assembly:
    """Functions of the modules under one contact set. `hubs` of them are solved for beside the forces."""

    def __init__(self, modules: dict[str, Module], contacts: tuple[Contact, ...], planar: bool, hubs: set[str]) -> None:
        self._modules, self._hubs = modules, hubs
        self._functions, self._shown = {}, {}
        for name, module in modules.items():
            points = _points_of(module, contacts)
            function = _modular_function(_anonymous(module), points, name in hubs, planar)
            self._functions[name] = function
            self._shown[name] = _shown(function, points, name in hubs)
        self.joined = Joined(self._shown, contacts, planar)
        self._n_q = [len(positions(m)) for m in modules.values()]
        self._n_u = [len(velocities(m)) for m in modules.values()]

    @cached_property
    def driven(self) -> ca.Function:
        """(q, u, force, drive) -> u', holding forces, independence."""
        joined = self.joined
        held, free = joined.solve(joined.turned_demand(), joined.net_force()), joined.free_wrenches()
        wrenches = {n: w + free[n] for n, w in joined.held_wrenches(held.force).items()}
        level = self._level("global_level", joined.drive, [held.force, held.independence, held.acceleration], wrenches)
        x, drive = self._state(), self._drive()
        shown = self._modular(*x)
        force, independence, of_hubs, *pushes = level.call([*self._facts(shown), *drive])
        return ca.Function("driven", [*x, *drive], [self._moved(shown, of_hubs, pushes, True), force, independence])

    @cached_property
    def correct(self) -> ca.Function:
        """(q, y) -> the change of u that changes the constrained velocities by y, smallest in the metric of the masses;
        the impulses that make it; independence."""
        (q, u, _), y = self._state(), ca.MX.sym("y", self.joined.n_held)
        return ca.Function("correct", [q, y], self._corrected(self._modular(q, ca.MX.zeros(*u.shape)), y))

    @cached_property
    def errors(self) -> ca.Function:
        """(q, u, velocity) -> gap, slip."""
        (q, u, _), velocity = self._state(), ca.MX.sym("xd_c", self.joined.n_held)
        return ca.Function("errors", [q, u, velocity], self._errors(self._modular(q, u), velocity))

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
        x = self._state()
        return ca.Function("accelerate", x, self.driven.call([*x, *(ca.MX.zeros(*d.shape) for d in self._drive())]))

    def rk4(self, name: str, project: bool) -> ca.Function:
        """(q, u, force, h, drive) -> q, u after h, independence.

        What is done to the contacts comes in three columns: at the start, in the middle and at the end of the step.
        """
        (q, u, force), (*drive, feedback), h = self._state(), self._drive(3), ca.MX.sym("h")
        rates: list[tuple[ca.MX, ca.MX]] = []
        independence = ca.MX(1)
        for column, part in ((0, 0.0), (1, 0.5), (1, 0.5), (2, 1.0)):
            at_q, at_u = (q, u) if not rates else (q + part * h * rates[-1][0], u + part * h * rates[-1][1])
            u_dot, _, least = self.driven.call([at_q, at_u, force, *(d[:, column] for d in drive), feedback])
            rates.append((self.rate(at_q, at_u), u_dot))
            independence = ca.fmin(independence, least)
        q_after, u_after = (
            x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            for x, (k1, k2, k3, k4) in zip((q, u), zip(*rates, strict=True), strict=True)
        )
        q_after = self.normalised(q_after)
        if project:
            q_after, u_after, least = self._projected(q_after, u_after, drive[1][:, 2])
            independence = ca.fmin(independence, least)
        return ca.Function(name, [q, u, force, h, *drive, feedback], [q_after, u_after, independence])

    def dense(self) -> ca.Function:
        """(q, u, force, drive) -> M, f, A, y of M u' = f + A^T F_c and A u' = y. Only where all modules are hubs."""
        joined = self.joined
        outputs = [joined.mass_matrix(), joined.net_force(), joined.constraint_matrix(), joined.demand()]
        level = self._level("dense_level", joined.drive, outputs)
        x, drive = self._state(), self._drive()
        return ca.Function("dense", [*x, *drive], level.call([*self._facts(self._modular(*x)), *drive]))

    def _projected(self, q: ca.MX, u: ca.MX, velocity: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        """One Newton step onto the pose, which squares an error that one step of integration left; then the velocity,
        in which the constraints are linear."""
        shown = self._modular(q, u)
        change, _, least = self._corrected(shown, -self._errors(shown, velocity)[0])
        q = self.normalised(q + self.rate(q, change))
        shown = self._modular(q, u)
        change, _, least_here = self._corrected(shown, -self._errors(shown, velocity)[1])
        return q, u + change, ca.fmin(least, least_here)

    def _errors(self, shown: dict[str, dict[str, ca.MX]], velocity: ca.MX) -> list[ca.MX]:
        """Gap and slip."""
        return list(self._error_level.call([*self._facts(shown), velocity]))

    def _corrected(self, shown: dict[str, dict[str, ca.MX]], y: ca.MX) -> list[ca.MX]:
        """Change of u, impulses, independence."""
        impulse, independence, of_hubs, *pushes = self._correction_level.call([*self._facts(shown), y])
        return [self._moved(shown, of_hubs, pushes, False), impulse, independence]

    @cached_property
    def _error_level(self) -> ca.Function:
        return self._level("error_level", [self.joined.velocity], [self.joined.gap, self.joined.slip])

    @cached_property
    def _correction_level(self) -> ca.Function:
        joined, y = self.joined, ca.SX.sym("y", self.joined.n_held)
        held = joined.solve(joined.turn @ y, ca.SX.zeros(joined.net_force().shape[0]))
        outputs = [held.force, held.independence, held.acceleration]
        return self._level("correction_level", [y], outputs, joined.held_wrenches(held.force))

    def _state(self) -> list[ca.MX]:
        """q, u and force."""
        return [ca.MX.sym("q", sum(self._n_q)), ca.MX.sym("u", sum(self._n_u)), ca.MX.sym("force", sum(self._n_u))]

    def _drive(self, columns: int = 1) -> list[ca.MX]:
        """Free force, velocity and prescribed acceleration, feedback."""
        n_held, n_free = self.joined.n_held, self.joined.n_free
        sizes = {"F_u": n_free, "xd_c": n_held, "xdd_c": n_held}
        return [*(ca.MX.sym(name, n, columns) for name, n in sizes.items()), ca.MX.sym("feedback", 2)]

    def _modular(self, q: ca.MX, u: ca.MX, force: ca.MX | None = None) -> dict[str, dict[str, ca.MX]]:
        """What every module shows, by name of output."""
        force = ca.MX.zeros(*u.shape) if force is None else force
        parts = self._split(q, self._n_q), self._split(u, self._n_u), self._split(force, self._n_u)
        shown = {}
        for (name, module), *x in zip(self._modules.items(), *parts, strict=True):
            function = self._functions[name]
            shown[name] = dict(zip(function.name_out(), function.call([*x, base_pose(module)]), strict=True))
        return shown

    def _level(
        self, name: str, extra: list[ca.SX], outputs: list[ca.SX], wrenches: dict[str, ca.SX] | None = None
    ) -> ca.Function:
        """A function of the global level: (what the modules show, extra) -> outputs, wrenches on the leaves."""
        pushes = [w for module, w in (wrenches or {}).items() if module not in self._hubs]
        inputs = [symbol for s in self._shown.values() for symbol in s.symbols.values()]
        return ca.Function(name, [*inputs, *extra], [ca.densify(x) for x in (*outputs, *pushes)], {"cse": True})

    def _facts(self, shown: dict[str, dict[str, ca.MX]]) -> list[ca.MX]:
        """What the modules show, as the global level takes it."""
        return [x for outputs in shown.values() for name, x in outputs.items() if name not in INNER]

    def _moved(self, shown: dict[str, dict[str, ca.MX]], of_hubs: ca.MX, pushes: list[ca.MX], from_open: bool) -> ca.MX:
        """Leaves move by the wrenches on them, u_open + Psi W or Psi W alone; what hubs do is known already."""
        hubs = iter(self._split(of_hubs, [n for m, n in zip(shown, self._n_u, strict=True) if m in self._hubs]))
        wrench = iter(pushes)
        moved = []
        for name, s in shown.items():
            if name in self._hubs:
                moved.append(next(hubs))
            else:
                start = s["u_open"] if from_open else ca.MX.zeros(*s["u_open"].shape)
                moved.append(_moved_leaf(*s["Psi"].shape)(start, s["Psi"], next(wrench)))
        return ca.vertcat(*moved)

    @staticmethod
    def _split(stacked: ca.MX, sizes: list[int]) -> list[ca.MX]:
        return list(ca.vertsplit(stacked, [0, *accumulate(sizes)]))


def hubs(modules: dict[str, Module], contacts: tuple[Contact, ...], planar: bool) -> set[str]:
    """Modules with many contacts, each to a module with enough freedom to resist all that it holds by itself."""
    count = Counter(name for c in contacts for name in {c.first.module, c.second.module})
    load: Counter[str] = Counter()
    for contact in contacts:
        for name in {contact.first.module, contact.second.module}:
            load[name] += KINDS[contact.kind].n_held(contact.parameters, planar)
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
def _modular_function(module: Module, points: tuple[Point, ...], is_hub: bool, planar: bool) -> ca.Function:
    return (hub_function if is_hub else leaf_function)(module, points, planar)


@lru_cache(maxsize=256)
def _rate(module: Module) -> ca.Function:
    tree = Tree(module)
    return ca.Function("rate", [tree.q, tree.u], [ca.densify(tree.q_dot)])


@lru_cache(maxsize=256)
def _normalised(module: Module) -> ca.Function:
    tree = Tree(module)
    return ca.Function("normalised", [tree.q], [ca.densify(tree.projected())])


@lru_cache(maxsize=256)
def _moved_leaf(n: int, k: int) -> ca.Function:
    """u_open + Psi W, written out."""
    start, Psi, W = ca.SX.sym("u_open", n), ca.SX.sym("Psi", n, k), ca.SX.sym("W", k)
    return ca.Function("moved", [start, Psi, W], [start + Psi @ W])
