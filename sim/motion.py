"""How the modules of a testbed move in one physics step: freely, or held by the contacts that are closed."""

from __future__ import annotations

from functools import cached_property

import casadi as ca

from granite.config.testbed import Testbed
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.drive import drive_function
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree
from granite.sim.forces import lab_force, n_held, n_thrusters


def n_extra(bed: Testbed) -> int:
    """How many numbers of the state are neither coordinates nor velocities."""
    return sum(is_there for is_there in (is_driven(bed), bed.simulation.audit))


def is_driven(bed: Testbed) -> bool:
    """Whether contacts are moved or pushed over time."""
    return any(contact.motion.profiles or contact.force.profiles for contact in bed.contacts)


class Motion:
    """x = [q; u; extra] of all modules, p = [thrust of each thruster; torque of each motor], held over a step.

    Extra is the time, where contacts are driven by it, and the work done so far, where it is audited.
    """

    def __init__(self, bed: Testbed, held: ContactSet | None) -> None:
        self._bed, self._held = bed, held if held and held.contacts else None
        self._trees = [Tree(module) for module in bed.modules]
        self.n_q, self.n_u = len(bed.positions), len(bed.velocities)
        self._driven = is_driven(bed)
        self.n_extra = n_extra(bed)

    def step(self, x: ca.MX, p: ca.MX, h: float) -> tuple[ca.MX, ca.MX]:
        """x after h by classical Runge-Kutta, put back where it belongs; the least independence of the contacts."""
        rhs = self._held_rate(self._held) if self._held else self._free_rate()
        k1, least1 = rhs(x, p)
        k2, least2 = rhs(x + h / 2 * k1, p)
        k3, least3 = rhs(x + h / 2 * k2, p)
        k4, least4 = rhs(x + h * k3, p)
        after = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        least = ca.fmin(ca.fmin(least1, least2), ca.fmin(least3, least4))
        q, u, extra = self.parts(after)
        if self._held is None:
            return ca.vertcat(self._normalised()(q), u, extra), least
        assembly = self._held.assembly
        q = assembly.normalised(q)
        if self._bed.simulation.drift.cure == "projection":
            _, velocity, _, place = self._drive(self._held, extra)
            q, u, projected = assembly.projected(q, u, velocity, place)
            least = ca.fmin(least, projected)
        return ca.vertcat(q, u, extra), least

    def _free_rate(self) -> ca.Function:
        """(x, p) -> x', 1: every module by itself. Written in one piece, so that forces share its kinematics."""
        q, u = (ca.vertcat(*(getattr(tree, name) for tree in self._trees)) for name in ("q", "u"))
        p, extra = self._pushes(), ca.SX.sym("extra", self.n_extra)
        force = lab_force(self._bed, self._trees, p)
        ends = [0]
        for tree in self._trees:
            ends.append(ends[-1] + tree.u.numel())
        forces = ca.vertsplit(force, ends)
        u_dot = ca.vertcat(*(Dynamics(t).forward(part) for t, part in zip(self._trees, forces, strict=True)))
        x_dot = ca.vertcat(*(tree.q_dot for tree in self._trees), u_dot, self._extra_rate(u, force))
        return ca.Function("free_rate", [ca.vertcat(q, u, extra), p], [x_dot, 1])

    def _held_rate(self, held: ContactSet) -> ca.Function:
        """(x, p) -> x', independence: the global level between the modules."""
        x, p = ca.MX.sym("x", self.n_q + self.n_u + self.n_extra), ca.MX.sym("p", self._pushes().numel())
        q, u, extra = self.parts(x)
        force, extra_rate = self.force(q, u, p)
        drift = self._bed.simulation.drift
        gains = ca.DM([drift.damping_1_s, drift.stiffness_1_s2] if drift.cure == "feedback" else [0, 0])
        free_force, velocity, acceleration, place = self._drive(held, extra)
        u_dot, holding, least = held.assembly.driven_at(q, u, force, free_force, velocity, acceleration, gains, place)
        if self._bed.simulation.audit:
            _, power = held.assembly.borne(q, u, free_force, holding)
            extra_rate += ca.vertcat(ca.DM.zeros(self.n_extra - 1), power)
        x_dot = ca.vertcat(held.assembly.rate(q, u), u_dot, extra_rate)
        return ca.Function("held_rate", [x, p], [x_dot, least])

    def _drive(self, held: ContactSet, extra: ca.MX) -> list[ca.MX]:
        """Free force, velocity, acceleration and place of all contacts."""
        if self._driven:
            return list(drive_function(held.contacts, held.planar, held.label.slipping).call([extra[0]]))
        return [ca.MX.zeros(n) for n in (held.n_free, held.n_held, held.n_held, held.n_held)]

    @cached_property
    def force(self) -> ca.Function:
        """(q, u, p) -> generalised force of the lab on all modules, rate of extra."""
        q, u = (ca.vertcat(*(getattr(tree, name) for tree in self._trees)) for name in ("q", "u"))
        p = self._pushes()
        force = lab_force(self._bed, self._trees, p)
        return ca.Function("lab_force", [q, u, p], [ca.densify(force), self._extra_rate(u, force)])

    def _extra_rate(self, u: ca.SX, force: ca.SX) -> ca.SX:
        """Time goes by; power of the lab less what the damping of flexible links takes."""
        rates = [ca.SX(1)] if self._driven else []
        if self._bed.simulation.audit:
            # The elastic force is K q + D u: only its damping knows u.
            damping = (ca.jtimes(tree.elastic_force(), tree.u, tree.u) for tree in self._trees)
            rates.append(ca.dot(u, force - ca.vertcat(*damping)))
        return ca.vertcat(ca.SX(0, 1), *rates)

    def _normalised(self) -> ca.Function:
        q = ca.vertcat(*(tree.q for tree in self._trees))
        return ca.Function("normalised", [q], [ca.vertcat(*(tree.projected() for tree in self._trees))])

    def _pushes(self) -> ca.SX:
        return ca.SX.sym("p", n_thrusters(self._bed) + n_held(self._bed))

    def parts(self, x: ca.MX) -> list[ca.MX]:
        """q, u and extra."""
        ends = [0, self.n_q, self.n_q + self.n_u, self.n_q + self.n_u + self.n_extra]
        return list(ca.vertsplit(x, ends))
