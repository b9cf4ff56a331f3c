"""Dynamics of a module from its kinematics: M u' + h = F.

A frame feels, along its own velocities, what all that it carries needs to move. So the generalised force that goes with
u' is what the masses need (Newton and Euler), summed from the tips inward; and the mass matrix is the momentum of what
is carried as one body, felt by each carrier inward. What happens inside a flexible link follows by differentiation
(`mrds.masses`). The tests compare the whole with Lagrange's equations, by differentiation of the energies alone.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca

from granite.mrds.frames import Frame, Rates, Wrench
from granite.mrds.masses import NOTHING
from granite.mrds.tree import Tree


class Dynamics:
    """Expressions in `tree.q`, `tree.u`, and for inverse dynamics `acceleration`."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.acceleration = ca.SX.sym("a", tree.u.numel())

    @cached_property
    def bias(self) -> ca.SX:
        """Velocity and gravity terms, with stiffness and damping of flexible links."""
        return self._inverse(self.tree.drifts)

    @cached_property
    def inverse(self) -> ca.SX:
        """The generalised force that goes with `acceleration` (recursive Newton-Euler)."""
        return self._inverse(Rates(self.acceleration, self.tree.gravity))

    @cached_property
    def mass_matrix(self) -> ca.SX:
        """M, by composite rigid bodies (Featherstone 2008, section 6.2) with the amplitudes of links beside them."""
        n = self.tree.u.numel()
        M, carried = ca.SX(n, n), dict.fromkeys(self.tree.frames, NOTHING)
        for mass in self.tree.bodies:
            carried[mass.frame] = carried[mass.frame].and_of(mass.whole())
            momentum, along = mass.bending()
            _add(M, mass.amplitudes, mass.amplitudes, along)
            _add_coupling(M, mass.frame.chain, mass.amplitudes, momentum)
        for frame in reversed(self.tree.frames):
            momentum = carried[frame].momentum(frame.slide, frame.turn)
            _add(M, frame.own, frame.own, ca.triu2symm(ca.triu(frame.feels(momentum))))
            if frame.parent:
                _add_coupling(M, frame.parent.chain, frame.own, frame.to_parent(momentum))
                carried[frame.parent] = carried[frame.parent].and_of(carried[frame].to_parent(frame))
        return ca.sparsify(M)

    @cached_property
    def gravity_force(self) -> ca.SX:
        """The part of the bias that gravity makes (virtual power: gravity works on the linear momentum)."""
        linear = self.momentum()[:3]
        return -ca.densify(ca.jtimes(linear, self.tree.u, self.tree.gravity, True))

    def forward(self, force: ca.SX) -> ca.SX:
        """Acceleration under a generalised force: M u' = F - h, by a sparse factorisation from the tips inward."""
        return solve(self.mass_matrix, force - self.bias)

    def kinetic_energy(self) -> ca.SX:
        """Kinetic energy [J]."""
        return sum((mass.kinetic_energy() for mass in self.tree.bodies), ca.SX(0))

    def potential_energy(self) -> ca.SX:
        """Potential energy of gravity, zero at the world origin, and strain energy [J]."""
        parts = [-b.mass * ca.dot(self.tree.gravity, self.tree.origin + b.p_OC) for b in self.tree.bodies]
        parts += [link.strain_energy for link in self.tree.links.values()]
        return sum(parts[1:], parts[0])

    def momentum(self) -> ca.SX:
        """Linear momentum [N s], then angular momentum about the world origin [N m s]."""
        linear, angular = ca.SX(3, 1), ca.SX(3, 1)
        for mass in self.tree.bodies:
            own, R = mass.momentum(), mass.frame.R_WB
            linear += R @ own.force
            angular += R @ own.moment + ca.cross(self.tree.origin + mass.frame.p_OB, R @ own.force)
        return ca.vertcat(linear, angular)

    def centre_of_mass(self) -> ca.SX:
        """Position of the mass centre of the module [m]."""
        parts = [b.mass * (self.tree.origin + b.p_OC) for b in self.tree.bodies]
        return sum(parts[1:], parts[0]) / sum(b.mass for b in self.tree.bodies)

    def _inverse(self, rates: Rates) -> ca.SX:
        """The generalised force that goes with given accelerations."""
        force, n = self.tree.elastic_force(), self.tree.u.numel()
        carried = dict.fromkeys(self.tree.frames, Wrench(ca.SX(3, 1), ca.SX(3, 1)))
        for mass in self.tree.bodies:
            wrench, along = mass.push(rates)
            carried[mass.frame] = carried[mass.frame].and_of(wrench)
            force += _placed(along, mass.amplitudes, n)
        for frame in reversed(self.tree.frames):
            force += _placed(frame.feels(carried[frame]), frame.own, n)
            if frame.parent:
                carried[frame.parent] = carried[frame.parent].and_of(frame.to_parent(carried[frame]))
        return ca.densify(force)


def _placed(part: ca.SX, rows: tuple[int, ...], n: int) -> ca.SX:
    """A column of n rows with a part in some of them."""
    column = ca.SX(n, 1)
    if rows:
        column[list(rows)] = part
    return column


def _add(M: ca.SX, rows: tuple[int, ...], columns: tuple[int, ...], block: ca.SX) -> None:
    if rows and columns:
        M[list(rows), list(columns)] += block


def _add_coupling(M: ca.SX, carriers: tuple[Frame, ...], own: tuple[int, ...], momentum: Wrench) -> None:
    """Add the momenta of unit velocities, given at the first carrier, as all of them feel them."""
    for carrier in carriers:
        block = carrier.feels(momentum)
        _add(M, carrier.own, own, block)
        _add(M, own, carrier.own, block.T)
        momentum = carrier.to_parent(momentum)


def force_on_root(tree: Tree, wrench: ca.SX) -> ca.SX:
    """Generalised force of a wrench on a floating root body about its origin, in its own axes."""
    R, (d, n) = tree.root.R_WB, _base(tree)
    return _placed(ca.vertcat(R[:d, :d] @ wrench[:d], wrench[d:]), tuple(range(n)), tree.u.numel())


def wrench_on_root(tree: Tree, force: ca.SX) -> ca.SX:
    """The part of a generalised force that acts on a floating root body, as a wrench about its origin in its own axes.

    The inverse of `force_on_root`; nothing where the base is fixed.
    """
    R, (d, n) = tree.root.R_WB, _base(tree)
    return ca.densify(ca.vertcat(R[:d, :d].T @ force[:d], force[d:n])) if n else ca.SX(0, 1)


def _base(tree: Tree) -> tuple[int, int]:
    """In how many directions a base slides, and how many velocities it has."""
    sliding, turning = len(tree.root.chain[-1].own), len(tree.root.own)
    return sliding, sliding + turning


def solve(M: ca.SX, rhs: ca.SX) -> ca.SX:
    """M^-1 rhs for a symmetric positive definite M.

    A tree numbered from the root outward fills no zero when it is eliminated from the last coordinate to the first
    (Featherstone's LTL order), so the order is reversed around CasADi's sparse LDL factorisation.
    """
    backwards = list(range(M.shape[0]))[::-1]
    D, L, order = ca.ldl(M[backwards, backwards], False)
    return ca.ldl_solve(rhs[backwards, :], D, L, order)[backwards, :]
