"""Motion of the modules of a testbed in one physics step: free, or under the contacts that are closed.

x = [q; u; extra] of all modules; extra is the time, where contacts or hoses depend on it, the inner states of the lab,
and, where it is audited, the impulse of the lab on modules that float, and its work. p are the inputs of the lab,
constant over a step (zero-order hold): thrusts and motor torques, and the constants that the seed drew.

The rate of a plant with contacts is written once, in `ContactMotion`; its subclasses solve for the contact forces, by
elimination in symbols (`EliminationMotion`, here) or by singular values in numbers (`sim.constrained_plant`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.contacts.contact_set import NO_FEEDBACK, ContactSet
from granite.mrds.contacts.drive import drive_function
from granite.mrds.dynamics import Dynamics
from granite.mrds.integrators import rk4
from granite.mrds.symbols import vector
from granite.mrds.tree import Tree
from granite.sim.plant.collisions import collision_function
from granite.sim.plant.draws import draws
from granite.sim.plant.forces import initial_inner, lab_force, n_held, n_inner, n_thrusters
from granite.sim.plant.hoses import has_moving_hoses
from granite.sim.plant.soft_grips import compliance, grip_function

#: a column of symbols or of numbers
Column = Any
#: entries of an audit: linear and angular impulse, and work
N_AUDITED = 7


def n_extra(bed: Testbed) -> int:
    """Number of entries of the state that are neither coordinates nor velocities."""
    return has_clock(bed) + n_inner(bed) + N_AUDITED * bed.simulation.audit


def initial_extra(bed: Testbed, q: Array, u: Array) -> Array:
    """Those entries at the start."""
    time, audited = np.zeros(int(has_clock(bed))), np.zeros(N_AUDITED * bed.simulation.audit)
    return np.concatenate([time, initial_inner(bed, q, u), audited])


def has_clock(bed: Testbed) -> bool:
    """Whether the time is in the state."""
    return is_driven(bed) or has_moving_hoses(bed)


def is_driven(bed: Testbed) -> bool:
    """Whether contacts have prescribed motions or forces over time."""
    return any(contact.motion.profiles or contact.force.profiles for contact in bed.contacts)


class ContactMotion(ABC):
    """x' = [q'; u'; extra'] under closed contacts, and one physics step of it, in symbols or in numbers."""

    def __init__(self, bed: Testbed) -> None:
        stabilisation = bed.simulation.constraint_stabilisation
        self._projects, self._is_audited = stabilisation.method == "projection", bed.simulation.audit
        #: gains of Baumgarte stabilisation on velocity and position errors [1/s, 1/s^2]
        self.gains = NO_FEEDBACK
        if stabilisation.method == "baumgarte":
            self.gains = stabilisation.damping_1_s, stabilisation.stiffness_1_s2

    def step(self, x: Column, p: Any, h: Any) -> Column:
        """x after h by classical Runge-Kutta, quaternions normalised, projected onto the constraints if configured."""
        q, u, extra = self.parts(rk4(lambda at, _: self.rate(at, p), x, h))
        q = self.normalised(q)
        if self._projects:
            q, u = self.project(q, u, self.drive(extra))
        return self.stacked(q, u, extra)

    def rate(self, x: Column, p: Any) -> Column:
        """x': power of the contacts, which is that of their drive and friction, counts as work."""
        q, u, extra = self.parts(x)
        force, extra_rate = self.force(q, u, extra, p)
        drive = self.drive(extra)
        u_dot, holding = self.accelerate(q, u, force, drive)
        if self._is_audited:
            extra_rate = self.plus_power(extra_rate, self.contact_power(q, u, drive, holding))
        return self.stacked(self.position_rate(q, u), u_dot, extra_rate)

    @abstractmethod
    def parts(self, x: Column) -> tuple[Column, Column, Column]:
        """q, u and extra."""

    @abstractmethod
    def stacked(self, *parts: Column) -> Column:
        """One column of several."""

    @abstractmethod
    def force(self, q: Column, u: Column, extra: Column, p: Any) -> tuple[Column, Column]:
        """Generalised force of the lab on all modules (n_u), and its part of the rate of extra."""

    @abstractmethod
    def drive(self, extra: Column) -> tuple[Column, Column, Column, Column]:
        """Free force, prescribed velocity, acceleration and displacement of all contacts."""

    @abstractmethod
    def accelerate(self, q: Column, u: Column, force: Column, drive: tuple[Column, ...]) -> tuple[Column, Column]:
        """u' and constraint forces."""

    @abstractmethod
    def contact_power(self, q: Column, u: Column, drive: tuple[Column, ...], holding: Column) -> Column:
        """Power of all contacts on the modules [W]."""

    @abstractmethod
    def plus_power(self, extra_rate: Column, power: Column) -> Column:
        """The rate of extra with a power added to that of its last entry, the work."""

    @abstractmethod
    def position_rate(self, q: Column, u: Column) -> Column:
        """q'."""

    @abstractmethod
    def normalised(self, q: Column) -> Column:
        """q with every quaternion normalised."""

    @abstractmethod
    def project(self, q: Column, u: Column, drive: tuple[Column, ...]) -> tuple[Column, Column]:
        """q and u projected onto the constraints."""


class EliminationMotion(ContactMotion):
    """The equations in symbols, contact forces by elimination."""

    def __init__(self, bed: Testbed, contacts: ContactSet, motion: PlantMotion) -> None:
        super().__init__(bed)
        self._contacts, self._motion, self._is_driven = contacts, motion, is_driven(bed)
        #: independence of the constraints at every stage and projection so far
        self.independence: list[ca.MX] = []

    def rate(self, x: ca.MX, p: ca.MX) -> ca.MX:
        """x', through one function for all stages of a step, so that its code is compiled once."""
        x_dot, least = self._rate_function(x, p)
        self.independence.append(least)
        return x_dot

    @cached_property
    def _rate_function(self) -> ca.Function:
        """(x, p) -> x', independence."""
        motion, outside = self._motion, self.independence
        self.independence = []
        x, p = ca.MX.sym("x", motion.n_q + motion.n_u + motion.n_extra), ca.MX.sym("p", motion.n_inputs)
        x_dot = super().rate(x, p)
        (least,), self.independence = self.independence, outside
        return ca.Function("contact_rate", [x, p], [x_dot, least])

    def parts(self, x: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        """q, u and extra."""
        return self._motion.parts(x)

    def stacked(self, *parts: ca.MX) -> ca.MX:
        """One column of several."""
        return ca.vertcat(*parts)

    def force(self, q: ca.MX, u: ca.MX, extra: ca.MX, p: ca.MX) -> tuple[ca.MX, ca.MX]:
        """Generalised force of the lab, and its part of the rate of extra."""
        force, extra_rate = self._motion.force(q, u, extra, p)
        return force, extra_rate

    def drive(self, extra: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX, ca.MX]:
        """As functions of the time in extra, or zero."""
        contacts = self._contacts
        if self._is_driven:
            F_u, xd_c, xdd_c, x_c = drive_function(contacts.contacts, contacts.planar, contacts.label.slipping)(
                extra[0]
            )
            return F_u, xd_c, xdd_c, x_c
        zero = ca.MX.zeros(contacts.n_held)
        return ca.MX.zeros(contacts.n_free), zero, zero, zero

    def accelerate(self, q: ca.MX, u: ca.MX, force: ca.MX, drive: tuple[ca.MX, ...]) -> tuple[ca.MX, ca.MX]:
        """u' and constraint forces; the independence is stored."""
        free_force, velocity, acceleration, displacement = drive
        gains = ca.DM(list(self.gains))
        u_dot, holding, least = self._contacts.assembly.driven(
            q, u, force, free_force, velocity, acceleration, gains, displacement
        )
        self.independence.append(least)
        return u_dot, holding

    def contact_power(self, q: ca.MX, u: ca.MX, drive: tuple[ca.MX, ...], holding: ca.MX) -> ca.MX:
        """Power of all contacts."""
        return self._contacts.assembly.loads(q, u, drive[0], holding)[1]

    def plus_power(self, extra_rate: ca.MX, power: ca.MX) -> ca.MX:
        """The rate of extra with the power of the contacts."""
        return extra_rate + ca.vertcat(ca.DM.zeros(self._motion.n_extra - 1), power)

    def position_rate(self, q: ca.MX, u: ca.MX) -> ca.MX:
        """q'."""
        return self._contacts.assembly.rate(q, u)

    def normalised(self, q: ca.MX) -> ca.MX:
        """q with every quaternion normalised."""
        return self._contacts.assembly.normalised(q)

    def project(self, q: ca.MX, u: ca.MX, drive: tuple[ca.MX, ...]) -> tuple[ca.MX, ca.MX]:
        """By one Newton step; the independence is stored."""
        q, u, least = self._contacts.assembly.project(q, u, drive[1], drive[3])
        self.independence.append(least)
        return q, u


class PlantMotion:
    """The equations of motion of a testbed's modules in symbols, under one set of closed contacts or none."""

    def __init__(self, bed: Testbed, contacts: ContactSet | None) -> None:
        #: of the grips; None: they are constraints
        self.compliance = compliance(bed)
        closed = contacts if contacts and contacts.contacts else None
        self._bed, self._contacts = bed, closed if self.compliance is None else None
        #: closed grips that are springs
        self._springs = closed if self.compliance is not None else None
        self.n_q, self.n_u = len(bed.positions), len(bed.velocities)
        self.n_extra = n_extra(bed)
        self.n_inputs = n_thrusters(bed) + n_held(bed) + sum(draw.size for draw in draws(bed))

    def step(self, x: ca.MX, p: ca.MX, h: ca.MX) -> tuple[ca.MX, ca.MX]:
        """x after h, and the smallest independence of the constraints in all stages."""
        if self._contacts is None:
            q, u, extra = self.parts(rk4(lambda at, _: self._free_rate(at, p), x, h))
            return ca.vertcat(self._normalised(q), u, extra), ca.MX(1)
        motion = EliminationMotion(self._bed, self._contacts, self)
        after, least = motion.step(x, p, h), ca.MX(1)
        for independence in motion.independence:
            least = ca.fmin(least, independence)
        return after, least

    @cached_property
    def _trees(self) -> list[Tree]:
        return [Tree(module) for module in self._bed.modules]

    @cached_property
    def collisions(self) -> ca.Function | None:
        """(q, u) -> generalised force of collisions, and more (`collision_function`); None where there are none."""
        return collision_function(self._bed)

    @cached_property
    def force(self) -> ca.Function:
        """(q, u, extra, p) -> generalised force of the lab on all modules, rate of extra."""
        (q, u), p, extra = self._state(), self._inputs(), ca.SX.sym("extra", self.n_extra)
        pushed = self._pushed()
        force, extra_rate = self._lab(u, extra, p, pushed)
        results = [ca.densify(force), extra_rate]
        if not self._is_pushed:
            return ca.Function("lab_force", [q, u, extra, p], results)
        return self._with_pushes(ca.Function("lab_force", [q, u, extra, p, pushed], results))

    def _with_pushes(self, function: ca.Function) -> ca.Function:
        """The function without its last argument, the force of collisions and grips, which it gets from q and u."""
        given = [ca.MX.sym(function.name_in(i), function.size1_in(i)) for i in range(function.n_in() - 1)]
        x = ca.vertcat(*given[:-1])
        q, u, _ = self.parts(x)
        pushed = self.collisions.call([q, u])[0] if self.collisions is not None else ca.MX.zeros(self.n_u)
        if self._springs is not None and self.compliance is not None:
            pushed += grip_function(self.compliance, self._springs)(q, u)
        return ca.Function(f"{function.name()}_and_pushes", given, function.call([*given, pushed]))

    @property
    def _is_pushed(self) -> bool:
        """Whether collisions or grips push."""
        return self.collisions is not None or self._springs is not None

    def _pushed(self) -> ca.SX:
        """The force of collisions and grips as a symbol; nothing where there are none."""
        return ca.SX.sym("pushed", self.n_u) if self._is_pushed else ca.SX(self.n_u, 1)

    def parts(self, x: ca.MX) -> tuple[ca.MX, ca.MX, ca.MX]:
        """q, u and extra."""
        q, u, extra = ca.vertsplit(x, [0, self.n_q, self.n_q + self.n_u, self.n_q + self.n_u + self.n_extra])
        return q, u, extra

    @cached_property
    def _free_rate(self) -> ca.Function:
        """(x, p) -> x' without constraints. One expression, so that forces and dynamics share the kinematics."""
        (q, u), p, extra = self._state(), self._inputs(), ca.SX.sym("extra", self.n_extra)
        pushed = self._pushed()
        force, extra_rate = self._lab(u, extra, p, pushed)
        ends = [0]
        for tree in self._trees:
            ends.append(ends[-1] + tree.u.numel())
        forces = ca.vertsplit(force, ends)
        u_dot = ca.vertcat(*(Dynamics(t).forward(part) for t, part in zip(self._trees, forces, strict=True)))
        x_dot = ca.vertcat(*(tree.q_dot for tree in self._trees), u_dot, extra_rate)
        x = ca.vertcat(q, u, extra)
        if not self._is_pushed:
            return ca.Function("free_rate", [x, p], [x_dot])
        return self._with_pushes(ca.Function("free_rate", [x, p, pushed], [x_dot]))

    def _lab(self, u: ca.SX, extra: ca.SX, p: ca.SX, pushed: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Force, and the rate of extra: 1 for the time; inner states; power less the dissipation of flexible links."""
        first, n = int(has_clock(self._bed)), n_inner(self._bed)
        time, inner, _ = ca.vertsplit(extra, [0, first, first + n, self.n_extra])
        force, inner_rate = lab_force(self._bed, self._trees, time, inner, p)
        force = force + pushed if self._is_pushed else force
        rates = [*[ca.SX(1)] * first, inner_rate]
        if self._bed.simulation.audit:
            # The elastic force is K q + D u: its derivative by u is D.
            damping = (ca.jtimes(tree.elastic_force(), tree.u, tree.u) for tree in self._trees)
            rates += [self._wrench(force), ca.dot(u, force - ca.vertcat(*damping))]
        return force, ca.vertcat(*rates)

    def _wrench(self, force: ca.SX) -> ca.SX:
        """Force, and moment about the world's origin, on all modules that float: forces inside them add nothing."""
        total, first = ca.SX.zeros(6), 0
        for tree in self._trees:
            if tree.module.base == "floating":
                d = 2 if tree.module.dimension == "planar" else 3
                push = vector(ca.vertsplit(force[first : first + d]))
                turn = force[first + d : first + d + (1 if d == 2 else 3)]
                # The root moves along the axes of the world, and turns about its own.
                moment = ca.vertcat(0, 0, turn) if d == 2 else tree.root.R_WB @ turn
                total += ca.vertcat(push, ca.cross(tree.origin, push) + moment)
            first += tree.u.numel()
        return total

    @cached_property
    def _normalised(self) -> ca.Function:
        q = self._state()[0]
        return ca.Function("normalised", [q], [ca.vertcat(*(tree.projected() for tree in self._trees))])

    def _state(self) -> tuple[ca.SX, ca.SX]:
        """q and u of all modules."""
        q, u = (ca.vertcat(*(getattr(tree, name) for tree in self._trees)) for name in ("q", "u"))
        return q, u

    def _inputs(self) -> ca.SX:
        return ca.SX.sym("p", self.n_inputs)
