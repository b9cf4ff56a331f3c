"""Modules joined by contacts: one compiled function per contact set.

The modular level runs for every module by itself, through functions that all contact sets share (`mrds.operational`);
the global level finds the forces of the contacts that are closed (`mrds.joined`); back at the modular level those
forces move the modules. Taking hold and letting go is choosing another set: a table look-up, never a compilation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from config.contacts import Contact, Side
from config.coordinates import positions, velocities
from config.errors import InputError, expected_one_of
from config.modules import Module, Point
from mrds.compilation import compile_functions
from mrds.contacts import KINDS
from mrds.joined import Joined, Shown
from mrds.kernel import Array, Kernel
from mrds.operational import base_pose, hub_function, leaf_function

#: below this, a pivot against its diagonal says that constraints depend on each other
DEPENDENT = 1e-9
#: a module with this many contacts is a hub, if others can resist each of them
MANY = 2


class Motion(NamedTuple):
    """What a contact set makes of a state."""

    acceleration: Array  #: (n_u) of all modules
    force: Array  #: holding forces of all contacts, in their order
    independence: float  #: 1: the constraints do not know of each other; below DEPENDENT they were solved by least norm


class System:
    """All modules and all contacts of a testbed."""

    def __init__(self, modules: Sequence[Module], contacts: Sequence[Contact] = ()) -> None:
        self.modules = {module.name: module for module in modules}
        self.contacts = {contact.name: contact for contact in contacts}
        self.planar = all(module.dimension == "planar" for module in modules)
        _check(self.modules, self.contacts, len(modules), len(contacts))
        self.n_q = sum(len(positions(m)) for m in modules)
        self.n_u = sum(len(velocities(m)) for m in modules)

    def contact_set(self, closed: Iterable[str] | None = None) -> ContactSet:
        """The system with these contacts closed; all of them if none are named."""
        names = list(self.contacts if closed is None else closed)
        for name in names:
            if name not in self.contacts:
                raise InputError(f"contact set names '{name}', {expected_one_of(name, list(self.contacts))}")
        return ContactSet(self, tuple(self.contacts[name] for name in names))


class ContactSet:
    """One contact set of a system, compiled at its first use."""

    def __init__(self, system: System, contacts: tuple[Contact, ...]) -> None:
        self.system, self.contacts = system, contacts
        self._points = {m.name: _points_of(m, contacts) for m in system.modules.values()}
        self._hubs = _hubs(system, contacts)
        self._joined, self._shown = self._build(self._hubs)
        self.n_held, self.n_free = sum(self._joined.n_held), sum(self._joined.n_free)
        self._nothing = np.zeros(self.n_free), np.zeros(self.n_held), np.zeros(self.n_held), np.zeros(2)

    def accelerate(
        self,
        q: ArrayLike,
        u: ArrayLike,
        force: ArrayLike,
        *,
        free_force: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        feedback: tuple[float, float] = (0.0, 0.0),
    ) -> Motion:
        """Accelerations and holding forces under a generalised force.

        `free_force` acts along the free modes of the contacts, by E on P (actuated contacts); `velocity` and
        `prescribed` are the velocity and acceleration demanded along their constrained modes (kinematic excitation);
        `feedback` pulls constraint errors back: x''_c gets -feedback[0] slip - feedback[1] gap.
        """
        no_force, no_velocity, no_acceleration, _ = self._nothing
        arguments = (
            q, u, force,
            no_force if free_force is None else free_force,
            no_velocity if velocity is None else velocity,
            no_acceleration if prescribed is None else prescribed,
            feedback,
        )  # fmt: skip
        acceleration, held, independence = self._kernels["accelerate"](*arguments)
        least = float(independence[0])
        if not least > DEPENDENT or not np.isfinite(acceleration).all():
            return self._least_norm(arguments)
        return Motion(acceleration.copy(), held.copy(), least)

    def errors(self, q: ArrayLike, u: ArrayLike, velocity: ArrayLike | None = None) -> tuple[Array, Array]:
        """Gap of the pose and slip of the velocity, for every constrained mode."""
        still = self._nothing[1] if velocity is None else velocity
        gap, slip = self._kernels["errors"](q, u, still)
        return gap.copy(), slip.copy()

    def _least_norm(self, arguments: tuple[ArrayLike, ...]) -> Motion:
        """Dependent constraints: of all forces that do, the smallest; the accelerations are the same for all."""
        S, y = self._general["schur"](*arguments)
        held: Any
        held, _, _, singular = np.linalg.lstsq(S, y, rcond=DEPENDENT)
        acceleration = self._general["moved"](*arguments[:4], held)[0].copy()
        independence = float(singular[-1] / singular[0]) if singular[0] > 0 else 0.0
        return Motion(acceleration, held, min(independence, DEPENDENT))

    def prepare(self) -> None:
        """Compile everything now, so that nothing is left to the loop."""
        _ = self._kernels, self._general

    @cached_property
    def _kernels(self) -> dict[str, Kernel]:
        return compile_functions("system", [self._accelerate(), self._errors()])

    @cached_property
    def _general(self) -> dict[str, Kernel]:
        return compile_functions("system_general", self._general_functions())

    def _build(self, hubs: set[str]) -> tuple[Joined, dict[str, Shown]]:
        shown = {}
        for module in self.system.modules.values():
            shown[module.name] = _symbols(module, self._points[module.name], module.name in hubs, self.system.planar)
        return Joined(shown, self.contacts, self.system.planar), shown

    def _accelerate(self) -> ca.Function:
        joined = self._joined
        force, wrenches, of_hubs, independence = joined.solved()
        leaves = [name for name in self._shown if name not in self._hubs]
        level = ca.Function(
            "global_level",
            [*_inputs(self._shown), joined.free_force, joined.velocity, joined.prescribed, joined.feedback],
            [force, independence, *(wrenches[n] for n in leaves), *(of_hubs[n] for n in self._hubs_in_order)],
            {"cse": True},
        )
        s = _Stacked(self.system)
        outputs = s.modular(self._points, self._hubs)
        drive = [ca.MX.sym(n, k) for n, k in (("F_u", self.n_free), ("xd_c", self.n_held), ("xdd_c", self.n_held))]
        feedback = ca.MX.sym("feedback", 2)
        found = level.call([*_facts(outputs, self._hubs), *drive, feedback])
        held, independent, rest = found[0], found[1], found[2:]
        moved = dict(zip([*leaves, *self._hubs_in_order], rest, strict=True))
        accelerations = [
            moved[name] if name in self._hubs else outputs[name]["u_open"] + outputs[name]["Psi"] @ moved[name]
            for name in self._shown
        ]
        return ca.Function("accelerate", [*s.inputs, *drive, feedback], [ca.vertcat(*accelerations), held, independent])

    def _general_functions(self) -> list[ca.Function]:
        """S F_c = y over all modules, and the accelerations for given forces: no hub, so no pivot that could vanish."""
        joined, shown = self._build(set())
        S, y = joined.schur()
        drive = [joined.free_force, joined.velocity, joined.prescribed, joined.feedback]
        level = ca.Function("schur_level", [*_inputs(shown), *drive], [ca.densify(S), y], {"cse": True})
        force = ca.SX.sym("F_c", self.n_held)
        wrenches = joined.wrenches(force)
        push = ca.Function(
            "wrench_level", [*_inputs(shown), joined.free_force, force], [wrenches[n] for n in shown], {"cse": True}
        )
        s = _Stacked(self.system)
        outputs = s.modular(self._points, set())
        symbols = [ca.MX.sym(f"d{i}", d.shape[0]) for i, d in enumerate(drive)]
        schur = ca.Function("schur", [*s.inputs, *symbols], level.call([*_facts(outputs, set()), *symbols]))
        free, held = ca.MX.sym("F_u", self.n_free), ca.MX.sym("F_c", self.n_held)
        pushed = push.call([*_facts(outputs, set()), free, held])
        moved = [outputs[n]["u_open"] + outputs[n]["Psi"] @ w for n, w in zip(shown, pushed, strict=True)]
        return [schur, ca.Function("moved", [*s.inputs, free, held], [ca.vertcat(*moved)])]

    def _errors(self) -> ca.Function:
        joined = self._joined
        level = ca.Function("error_level", [*_inputs(self._shown), joined.velocity], [joined.gap, joined.slip])
        s = _Stacked(self.system)
        outputs = s.modular(self._points, self._hubs)
        velocity = ca.MX.sym("xd_c", self.n_held)
        found = level.call([*_facts(outputs, self._hubs), velocity])
        q, u, force = s.inputs
        still = [ca.substitute([f], [force], [ca.MX.zeros(force.shape[0])])[0] for f in found]
        return ca.Function("errors", [q, u, velocity], still)

    @property
    def _hubs_in_order(self) -> list[str]:
        return [name for name in self._shown if name in self._hubs]


class _Stacked:
    """q, u and force of all modules one after the other, and the modular level on them."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.inputs = [ca.MX.sym("q", system.n_q), ca.MX.sym("u", system.n_u), ca.MX.sym("force", system.n_u)]

    def modular(self, points: dict[str, tuple[Point, ...]], hubs: set[str]) -> dict[str, dict[str, ca.MX]]:
        """What each module shows, by name of output."""
        q, u, force = self.inputs
        at_q = at_u = 0
        shown, made = {}, {}
        for name, module in self._system.modules.items():
            n_q, n_u = len(positions(module)), len(velocities(module))
            # Modules that differ in name and placement only share one function.
            same = module.model_copy(
                update={"name": "module", "placement_m": (0.0, 0.0), "placement_rad": (0.0, 0.0, 0.0)}
            )
            key = (same.model_dump_json(), tuple(p.name for p in points[name]), name in hubs)
            if key not in made:
                build = hub_function if name in hubs else leaf_function
                made[key] = build(module, points[name], self._system.planar)
            function = made[key]
            results = function.call(
                [q[at_q : at_q + n_q], u[at_u : at_u + n_u], force[at_u : at_u + n_u], base_pose(module)]
            )
            shown[name] = dict(zip(function.name_out(), results, strict=True))
            at_q, at_u = at_q + n_q, at_u + n_u
        return shown


_LEAF = ("positions", "axes", "twists", "open", "inverse_inertia")
_HUB = ("positions", "axes", "twists", "drift", "net_force", "H", "J")


def _facts(outputs: dict[str, dict[str, ca.MX]], hubs: set[str]) -> list[ca.MX]:
    """The outputs of the modular level that the global level takes, in order."""
    return [shown[key] for name, shown in outputs.items() for key in (_HUB if name in hubs else _LEAF)]


def _inputs(shown: dict[str, Shown]) -> list[ca.SX]:
    """The symbols of the global level for them, in the same order."""
    symbols = []
    for s in shown.values():
        symbols += [s.positions, s.axes, s.twists, s.acceleration]
        symbols += [s.net_force, s.H, s.J] if s.is_hub else [s.inverse_inertia]
    return symbols


def _symbols(module: Module, points: tuple[Point, ...], is_hub: bool, planar: bool) -> Shown:
    """Symbols for what a module shows. A planar module's axes turn about z only, and its points stay at z = 0."""
    k, n, d = len(points), len(velocities(module)), 3 if planar else 6
    name = module.name
    positions_, axes = ca.SX.sym(f"p_{name}", 3 * k), ca.SX.sym(f"R_{name}", 3, 3 * k)
    empty = ca.SX(0, 0)
    return Shown(
        tuple(p.name for p in points), positions_, axes, ca.SX.sym(f"x_{name}", d * k), ca.SX.sym(f"a_{name}", d * k),
        empty if is_hub else ca.SX.sym(f"L_{name}", d * k, d * k),
        ca.SX.sym(f"H_{name}", n, n) if is_hub else empty,
        ca.SX.sym(f"J_{name}", d * k, n) if is_hub else empty,
        ca.SX.sym(f"f_{name}", n) if is_hub else empty,
        is_hub,
    )  # fmt: skip


def _points_of(module: Module, contacts: tuple[Contact, ...]) -> tuple[Point, ...]:
    used = {side.point for c in contacts for side in (c.first, c.second) if side.module == module.name}
    return tuple(p for p in module.points if p.name in used)


def _hubs(system: System, contacts: tuple[Contact, ...]) -> set[str]:
    """Modules with many contacts, each to a module that can resist it by itself."""
    count = Counter(name for c in contacts for name in {c.first.module, c.second.module})
    crowded = {name for name in system.modules if count[name] >= MANY}

    def resisted(contact: Contact, hub: str) -> bool:
        other = contact.second.module if contact.first.module == hub else contact.first.module
        if other == hub or other not in system.modules or other in crowded:
            return False
        return len(velocities(system.modules[other])) >= (3 if system.planar else 6)

    return {h for h in crowded if all(resisted(c, h) for c in contacts if h in (c.first.module, c.second.module))}


def _check(modules: dict[str, Module], contacts: dict[str, Contact], n_modules: int, n_contacts: int) -> None:
    if len(modules) < n_modules or len(contacts) < n_contacts:
        raise InputError("modules and contacts: a name is there twice, expected different ones")
    for contact in contacts.values():
        if contact.kind not in KINDS:
            raise InputError(
                f"contact '{contact.name}': kind = '{contact.kind}', {expected_one_of(contact.kind, list(KINDS))}"
            )
        KINDS[contact.kind].check(contact.name, contact.parameters)
        if contact.first.grounded and contact.second.grounded:
            raise InputError(f"contact '{contact.name}' joins the ground to itself, expected a module on one side")
        for key, side in (("first", contact.first), ("second", contact.second)):
            _check_side(f"contact '{contact.name}': {key}", side, modules)


def _check_side(where: str, side: Side, modules: dict[str, Module]) -> None:
    if side.grounded:
        return
    if side.module not in modules:
        raise InputError(f"{where}.module = '{side.module}', {expected_one_of(side.module, [*modules, 'ground'])}")
    points = [p.name for p in modules[side.module].points]
    if side.point not in points:
        raise InputError(f"{where}.point = '{side.point}', {expected_one_of(str(side.point), points)}")
