"""The one model that estimator, law and allocation share: M(q) u' + h(q, u) = F of the modules the controller knows.

h has the slope of the floor where a map of it was measured (`floor`), so that every law and the prediction have it.

Controlled modules come first, known objects after them; `layout` says where each stands. Expressions are in the
symbols q and u of all of them, each module by itself. Contacts that stay closed join them in `acceleration`, where the
contact set of `mrds` finds the constraint forces (Schur complement of the modules' inertias).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from granite.config.contacts import GROUND, Contact
from granite.config.devices.thrusters import Thrusters
from granite.config.modules import Module
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.controllers.thrusters.geometry import available_thrust, thruster_matrix
from granite.kernels.compilation import compile_once
from granite.mrds.contacts import kind_of
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.friction import has_friction
from granite.mrds.contacts.reachable import with_misses
from granite.mrds.dynamics import Dynamics, force_on_root, solve, wrench_on_root
from granite.mrds.height_map import GRAVITY, downhill
from granite.mrds.kinematics import Kinematics
from granite.mrds.system import System

#: poses at which the least inertia of a joint is looked for
_POSES = 20


class ControlModel(Kinematics):
    """The controller's model of a testbed.

    Parameters
    ----------
    bed
        The testbed as the controller knows it.

    Attributes
    ----------
    layout
        Indices of the coordinates of each module in q and u.
    driven
        Of each motor, the index of its joint in u.
    closed
        The contacts that this model knows: those between its modules and to the ground that are closed all the time.
    ignored
        Other contacts of its modules: they open and close by themselves, have friction or springs, or join modules
        that it does not know.
    active, passive
        Velocities that an actuator acts on, and the others: joints without a motor, modes of flexible links, bases
        without thrusters, objects.
    """

    def __init__(self, bed: Testbed) -> None:
        super().__init__(bed, bed.known)
        self.n = len(self.layout.velocities)
        self.driven = [self.layout.joint_u(motor.joint) for motor in bed.motors]
        pushed = {thrusters.pushed(bed).name for thrusters in bed.devices_of(Thrusters).values()}
        roots = [i for name in sorted(pushed) for i in self._indices(self.layout.root_u(bed.module(name)))]
        known = {GROUND, *self.layout.q}
        own = [
            c
            for c in bed.contacts
            if {c.first.module, c.second.module} & set(self.layout.q) and not _stays_open(bed, c)
        ]
        self.closed = [c for c in own if {c.first.module, c.second.module} <= known and _stays_closed(bed, c)]
        #: those that grips close and open
        grips = [c for c in own if c.name in bed.grips and c.compliance is None]
        self.switched = [c for c in grips if {c.first.module, c.second.module} <= known]
        self.ignored = [c for c in own if c not in self.closed and c not in self.switched]
        self.active = sorted({*self.driven, *roots})
        self.passive = [i for i in range(self.n) if i not in self.active]

    @cached_property
    def payload(self) -> ca.SX:
        """Symbol of `State.payload`, in a `LoadedModel`; empty in this one."""
        return ca.SX.sym("payload", 0)

    @cached_property
    def contact_sets(self) -> tuple[frozenset[str], ...]:
        """The sets of closed grips that the run can reach, the first at the start."""
        if not self.bed.switches:
            return (frozenset(),)
        names = frozenset(c.name for c in self.switched)
        sets = with_misses([frozenset(closed) for closed in self.bed.contact_sets])
        return tuple(dict.fromkeys(names & closed for closed in sets))

    # Symbolic expressions, made at first use: a model in the cache needs none of them.

    @cached_property
    def dynamics(self) -> dict[str, Dynamics]:
        """M and h of each module."""
        return {name: Dynamics(tree) for name, tree in self.trees.items()}

    @property
    def floating(self) -> tuple[Module, ...]:
        """The modules among these whose root floats, in the order of their wrenches."""
        return tuple(module for module in self.layout.modules if module.base == "floating")

    @cached_property
    def mass_matrix(self) -> ca.SX:
        """M (n_u x n_u), a block for each module."""
        return ca.diagcat(*(dynamics.mass_matrix for dynamics in self.dynamics.values()))

    @cached_property
    def bias(self) -> ca.SX:
        """h (n_u): Coriolis, centrifugal, gravity and elastic terms, and the slope of the floor."""
        return ca.vertcat(*(dynamics.bias for dynamics in self.dynamics.values())) - self.floor_force

    @cached_property
    def floor_force(self) -> ca.SX:
        """Generalised force of the slope of the measured floor at the place of each body; zero without a map."""
        force = ca.SX(self.n, 1)
        floor = self.bed.floor
        if floor is None:
            return force
        for name, tree in self.trees.items():
            parts = ca.SX.zeros(tree.u.numel())
            for body in tree.bodies:
                slope = ca.vertcat(downhill(floor.map, tree.origin + body.p_OC), 0)
                parts += ca.jtimes(body.v_WC, tree.u, body.mass * GRAVITY * slope, True)
            force[self.layout.u[name]] = parts
        return force

    def inverse(self, acceleration: ca.SX) -> ca.SX:
        """The generalised force M a + h that gives an acceleration (recursive Newton-Euler)."""
        parts = []
        for name, dynamics in self.dynamics.items():
            own = acceleration[self.layout.u[name]]
            parts.append(ca.substitute(dynamics.inverse, dynamics.acceleration, own))
        return ca.vertcat(*parts) - self.floor_force

    def compile_inverse(self) -> Callable[..., tuple[Array, Array, Array]]:
        """A compiled function (q, u, demanded acceleration, disturbance) -> acceleration, generalised force, wrenches
        on the roots.

        The last part of most laws: velocities without an actuator follow from the others, as in `complete`. The
        estimated disturbance d may be left out; F = M a + h - d compensates it.
        """

        def write() -> list[ca.Function]:
            demanded, disturbance = ca.SX.sym("a", self.n), ca.SX.sym("d", self.n)
            a = self.complete(demanded, disturbance)
            force = self.inverse(a) - disturbance
            return [ca.Function("inverse", [self.q, self.u, demanded, disturbance], [a, force, self.wrenches(force)])]

        run, n = compile_once("inverse", self.bed.fingerprint, write)["inverse"].run, self.n

        none = np.zeros(n)

        def inverse(q: Array, u: Array, acceleration: Array, disturbance: Array = none) -> tuple[Array, Array, Array]:
            results = run((q, u, acceleration, disturbance))
            return results[:n], results[n : 2 * n], results[2 * n :]

        return inverse

    def forward(self, force: ca.SX) -> ca.SX:
        """The acceleration M^-1 (F - h) under a generalised force."""
        acting = force + self.floor_force
        parts = [dynamics.forward(acting[self.layout.u[name]]) for name, dynamics in self.dynamics.items()]
        return ca.vertcat(*parts)

    @cached_property
    def acceleration(self) -> ca.Function:
        """(q, u, torque of each motor, thrust of each thruster, disturbance) -> u', with the closed contacts and the
        resistance of the joints."""
        return self.acceleration_under(frozenset())

    def acceleration_under(self, gripped: frozenset[str]) -> ca.Function:
        """The same with these grips closed as well."""
        torque, thrust = ca.SX.sym("tau", len(self.driven)), ca.SX.sym("thrust", len(self.bed.thrusters))
        disturbance = ca.SX.sym("d", self.n)
        force = self.torque_force(torque) + self.thrust_force(thrust) + self.resistance(self.u) + disturbance
        arguments = [self.q, self.u, torque, thrust, disturbance]
        acting, moved = ca.Function("acting", arguments, [force]), self.motion_under(gripped)
        # Without contacts everything is one expression; with them the contact set is a function of its own.
        symbol: Any = ca.SX if moved.is_a("SXFunction") else ca.MX
        given = [symbol.sym(acting.name_in(i), acting.size1_in(i)) for i in range(len(arguments))]
        return ca.Function("acceleration", given, [moved(*given[:2], acting(*given))])

    def compile_motion(self) -> Callable[..., tuple[Array, Array]]:
        """A compiled function (q, u, torque of each motor, thrust of each thruster, part of the joints' resistance) ->
        u' and q', with the contacts that are closed at the start."""

        def write() -> list[ca.Function]:
            acceleration = self.acceleration_under(self.contact_sets[0])
            symbol: Any = ca.SX if acceleration.is_a("SXFunction") else ca.MX
            sizes = {"q": self.q.numel(), "u": self.n, "tau": len(self.driven), "thrust": len(self.bed.thrusters)}
            q, u, torque, thrust = (symbol.sym(name, size) for name, size in sizes.items())
            rates = ca.Function("rates", [self.q, self.u], [ca.vertcat(*(t.q_dot for t in self.trees.values()))])
            part, resistance = symbol.sym("part"), ca.Function("resistance", [self.u], [self.resistance(self.u)])
            changes = ca.vertcat(acceleration(q, u, torque, thrust, (part - 1) * resistance(u)), rates(q, u))
            return [ca.Function("motion", [q, u, torque, thrust, part], [changes])]

        run, n = compile_once("motion", self.bed.fingerprint, write)["motion"].run, self.n

        def motion(q: Array, u: Array, torque: Array, thrust: Array, part: float = 1.0) -> tuple[Array, Array]:
            results = run((q, u, torque, thrust, np.array([part])))
            return results[:n], results[n:]

        return motion

    def free_roots(self, gripped: frozenset[str]) -> list[list[int]]:
        """Of each planar root that floats, with no contact of these closed on its module: its indices in u."""
        ignored = [c for c in self.ignored if not kind_of(c.kind).one_sided]
        closed = [*self.closed, *ignored, *(c for c in self.switched if c.name in gripped)]
        held = {side.module for c in closed for side in (c.first, c.second)}
        free = [module for module in self.floating if module.name not in held and module.dimension == "planar"]
        return [list(self._indices(self.layout.root_u(module))) for module in free]

    def joined(self, gripped: frozenset[str]) -> ContactSet | None:
        """The contacts that stay closed, and these grips; None where there are neither."""
        return self._contact_set(self.contacts_under(gripped))

    def contacts_under(self, gripped: frozenset[str]) -> list[Contact]:
        """The contacts that stay closed, and these grips."""
        return [*self.closed, *(c for c in self.switched if c.name in gripped)]

    def _contact_set(self, contacts: Sequence[Contact]) -> ContactSet | None:
        return System(self.layout.modules, contacts).contact_set() if contacts else None

    def constraint_jacobian(self, contacts: Sequence[Contact]) -> ca.SX:
        """J of the constraints J u = 0 of these contacts, written out: most of its entries are zero."""
        joined = self._contact_set(contacts)
        if joined is None:
            return ca.SX.zeros(0, self.n)
        errors = joined.assembly.errors.expand()
        _, slip = errors.call([self.q, self.u, *(ca.SX.zeros(errors.size1_in(i)) for i in (2, 3))])
        return ca.jacobian(slip, self.u)

    def motion_under(self, gripped: frozenset[str]) -> ca.Function:
        """(q, u, generalised force) -> u', with these grips closed beside the contacts that stay closed."""
        joined = self.joined(gripped)
        if joined is None:
            force = ca.SX.sym("force", self.n)
            return ca.Function("motion", [self.q, self.u, force], [self.forward(force)])
        q, u, loads = (ca.MX.sym(name, n) for name, n in (("q", self.q.numel()), ("u", self.n), ("force", self.n)))
        load = loads
        if self.bed.floor is not None:
            load = load + ca.Function("floor", [self.q], [self.floor_force])(q)
        return ca.Function("motion", [q, u, loads], [joined.assembly.accelerate(q, u, load)[0]])

    def complete(self, acceleration: ca.SX, force: ca.SX) -> ca.SX:
        """The acceleration with its passive part computed from the active part and the force on the passive velocities.

        M_pp a_p = F_p - h_p - M_pa a_a
        """
        p, a = self.passive, self.active
        if not p:
            return acceleration
        M, h = self.mass_matrix, self.bias
        completed = ca.SX(acceleration)
        completed[p] = solve(M[p, p], force[p] - h[p] - M[p, a] @ acceleration[a])
        return completed

    def thrust_force(self, thrust: ca.SX) -> ca.SX:
        """Generalised force of the thrusters, each with its thrust [N]."""
        force, first = ca.SX.zeros(self.n), 0
        for device in self.bed.devices_of(Thrusters).values():
            module, n = device.pushed(self.bed), len(device.units)
            wrench = ca.DM(thruster_matrix(device, module.dimension)) @ thrust[first : first + n]
            force[self.layout.u[module.name]] += force_on_root(self.trees[module.name], wrench)
            first += n
        return force

    def torque_force(self, torque: ca.SX) -> ca.SX:
        """Generalised force of the motors, each with its torque [N m]."""
        force = ca.SX.zeros(self.n)
        if self.bed.transmission is not None:
            torque = ca.sparsify(ca.DM(self.bed.transmission)) @ torque
        for i, index in enumerate(self.driven):
            force[index] += torque[i]
        return force

    def motor_torque(self, torque: ca.SX) -> ca.SX:
        """Torques of the motors that give these to the driven joints; of several columns each [N m]."""
        if self.bed.transmission is None:
            return torque
        return ca.sparsify(ca.DM(np.linalg.inv(self.bed.transmission))) @ torque

    def resistance(self, rate: ca.SX) -> ca.SX:
        """Generalised force of damping and friction of the joints at these rates: -d v - f v / sqrt(v^2 + v0^2)."""
        force = ca.SX.zeros(self.n)
        for i, (damping, friction, v0) in self._resistances.items():
            v = rate[i]
            force[i] = -damping * v - friction * v / ca.sqrt(v**2 + v0**2)
        return force

    @property
    def damping(self) -> Array:
        """Damping of each velocity, as the controller knows it [N m s or N s/m]."""
        return np.array([self._resistances.get(i, (0.0, 0.0, 0.0))[0] for i in range(self.n)])

    @property
    def friction(self) -> Array:
        """Friction of each velocity, as the controller knows it [N m or N]."""
        return np.array([self._resistances.get(i, (0.0, 0.0, 0.0))[1] for i in range(self.n)])

    @cached_property
    def _resistances(self) -> dict[int, tuple[float, float, float]]:
        """Damping, friction and fading rate of each joint that has any, by its index in u.

        Near rest the joint must not reverse within a period, else a prediction with this force oscillates: its slope
        d + f / v0 is bounded by the least inertia of the joint over a period.
        """
        resistances: dict[int, tuple[float, float, float]] = {}
        for module in self.layout.modules:
            joints = {self.layout.name(module, joint.name): joint.resistance for joint in module.joints}
            least = self._least_inertias(module) if any(d or f for d, f, _ in joints.values()) else {}
            for name, (damping, friction, v0) in joints.items():
                if damping or friction:
                    most = least[name] / self.bed.loop.period_s
                    resistances[self.layout.joint_u(name)] = min(damping, most), friction, max(v0, friction / most)
        return resistances

    def _least_inertias(self, module: Module) -> dict[str, float]:
        """Of each joint of a module, 1 / (M^-1)_jj at the least of some poses."""
        q, first, mass_matrix = (
            self.trees[module.name].q,
            self.layout.q[module.name].start,
            self.dynamics[module.name].mass_matrix,
        )
        mobility = ca.Function("mobility", [q], [ca.diag(ca.inv(mass_matrix))])
        names = [self.layout.name(module, joint.name) for joint in module.joints]
        poses = np.zeros((_POSES, q.numel()))
        if module.base == "floating" and module.dimension == "spatial":
            poses[:, 3] = 1.0  # a quaternion without rotation
        turned = [self.layout.joint_q(name) - first for name in names]
        poses[:, turned] = np.random.default_rng(0).uniform(-np.pi, np.pi, (_POSES, len(turned)))
        largest = np.max([mobility(pose).full().ravel() for pose in poses], axis=0)
        return {name: 1.0 / largest[self.layout.joint_u(name) - self.layout.u[module.name].start] for name in names}

    def wrenches(self, force: ca.SX) -> ca.SX:
        """The part of a generalised force on each floating root, as wrenches about their origins in their own axes."""
        own = (wrench_on_root(self.trees[module.name], force[self.layout.u[module.name]]) for module in self.floating)
        return ca.vertcat(ca.SX(0, 1), *own)

    @property
    def n_wrench(self) -> int:
        """How many numbers the wrenches on all floating roots have."""
        return sum(3 if module.dimension == "planar" else 6 for module in self.floating)

    def wrench_slice(self, module: Module) -> slice:
        """Indices of the wrench on the root of a module among these."""
        size, at = 3 if module.dimension == "planar" else 6, 0
        for other in self.floating:
            if other.name == module.name:
                return slice(at, at + size)
            at += size
        raise KeyError(module.name)

    @cached_property
    def available(self) -> Array:
        """The thrust of each thruster when its valve is open [N], by its data sheet."""
        parts = [available_thrust(device) for device in self.bed.devices_of(Thrusters).values()]
        return np.concatenate([np.zeros(0), *parts])

    @staticmethod
    def _indices(part: slice) -> range:
        return range(part.start, part.stop)


def _stays_open(bed: Testbed, contact: Contact) -> bool:
    """Whether grips could close a contact, but do so in none of the contact sets of the run."""
    closes = any(contact.name in closed for closed in bed.contact_sets)
    return bool(bed.switches and not closes and not kind_of(contact.kind).one_sided)


def _stays_closed(bed: Testbed, contact: Contact) -> bool:
    """Whether a contact is closed all the time, by itself, rigid, without slipping, and not moved from outside."""
    driven = contact.motion.profiles or contact.force.profiles
    yields = contact.compliance is not None
    return not (bed.switches or driven or yields or kind_of(contact.kind).one_sided or has_friction(contact))
