"""Dynamics of a module from its kinematics: M u' + h = F.

Recursive Newton-Euler: each frame projects the wrench of its subtree on its motion subspace, which gives the bias h
(Coriolis, centrifugal and gravity terms, elastic force) and the inverse dynamics. Composite rigid bodies: the momentum
of a subtree that moves as one body, projected on the motion subspaces of its frame and of all ancestors, gives the mass
matrix M. The terms inside a flexible link follow by differentiation (`mrds.masses`). The tests compare M and h with
Lagrange's equations, by differentiation of the energies alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import casadi as ca

from granite.mrds.frames import BodyFrame, FrameAccelerations, Wrench
from granite.mrds.masses import NO_INERTIA
from granite.mrds.tree import Tree


class Dynamics:
    """M(q) u' + h(q, u) = F of one module, as expressions in `tree.q` and `tree.u`.

    Parameters
    ----------
    tree
        The kinematics of the module.

    Attributes
    ----------
    acceleration
        (n_u) the symbol u' in `inverse`.

    Examples
    --------
    >>> tree = Tree(module)
    >>> M = ca.Function("M", [tree.q], [Dynamics(tree).mass_matrix])
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.acceleration = ca.SX.sym("a", tree.u.numel())

    @cached_property
    def bias(self) -> ca.SX:
        """h (n_u): Coriolis, centrifugal and gravity terms, with stiffness and damping of flexible links [N, N m]."""
        return self._inverse(self.tree.drifts)

    @cached_property
    def inverse(self) -> ca.SX:
        """F (n_u) for a given `acceleration` (recursive Newton-Euler) [N, N m]."""
        return self._inverse(FrameAccelerations(self.acceleration, self.tree.gravity))

    @cached_property
    def mass_matrix(self) -> ca.SX:
        """M (n_u, n_u), by composite rigid bodies (Featherstone 2008, section 6.2), with modal coordinates of links."""
        n = self.tree.u.numel()
        M = ca.SX(n, n)
        carried = dict.fromkeys(self.tree.frames, NO_INERTIA)
        for mass in self.tree.bodies:
            carried[mass.frame] += mass.rigid_inertia()
            momentum, along = mass.modal_momentum()
            _add(M, mass.amplitudes, mass.amplitudes, along)
            _add_coupling(M, mass.frame.chain, mass.amplitudes, momentum)
        for frame in reversed(self.tree.frames):
            momentum = carried[frame].momentum(frame.S_v, frame.S_w)
            _add(M, frame.indices, frame.indices, ca.triu2symm(ca.triu(frame.project(momentum))))
            if frame.parent:
                _add_coupling(M, frame.parent.chain, frame.indices, frame.to_parent(momentum))
                carried[frame.parent] += carried[frame].to_parent(frame)
        return ca.sparsify(M)

    @cached_property
    def gravity_force(self) -> ca.SX:
        """The gravity part of the bias (n_u), from virtual power: gravity acts on the linear momentum [N, N m]."""
        linear = self.momentum()[:3]
        return -ca.densify(ca.jtimes(linear, self.tree.u, self.tree.gravity, True))

    def forward(self, force: ca.SX) -> ca.SX:
        """Forward dynamics u' = M^-1 (F - h).

        Parameters
        ----------
        force
            (n_u) generalised force F [N, N m].

        Returns
        -------
        ca.SX
            (n_u) u' [m/s^2, rad/s^2].
        """
        return solve(self.mass_matrix, force - self.bias)

    def kinetic_energy(self) -> ca.SX:
        """Kinetic energy [J]."""
        return sum((mass.kinetic_energy() for mass in self.tree.bodies), ca.SX(0))

    def potential_energy(self) -> ca.SX:
        """Potential energy of gravity, zero at the world origin, and elastic energy [J]."""
        parts = [-b.mass * ca.dot(self.tree.gravity, self.tree.origin + b.p_OC) for b in self.tree.bodies]
        return sum(parts[1:], parts[0]) + self.tree.elastic_energy()

    def momentum(self) -> ca.SX:
        """Linear momentum [N s], then angular momentum about the world origin [N m s]."""
        linear, angular = ca.SX(3, 1), ca.SX(3, 1)
        for mass in self.tree.bodies:
            of_body, R = mass.momentum(), mass.frame.R_WB
            linear += R @ of_body.force
            angular += R @ of_body.moment + ca.cross(self.tree.origin + mass.frame.p_OB, R @ of_body.force)
        return ca.vertcat(linear, angular)

    def centre_of_mass(self) -> ca.SX:
        """Position of the mass centre of the module [m]."""
        parts = [b.mass * (self.tree.origin + b.p_OC) for b in self.tree.bodies]
        return sum(parts[1:], parts[0]) / sum(b.mass for b in self.tree.bodies)

    def _inverse(self, accelerations: FrameAccelerations) -> ca.SX:
        """Backward recursion: the generalised force for given accelerations."""
        force, n = self.tree.elastic_force(), self.tree.u.numel()
        carried = dict.fromkeys(self.tree.frames, Wrench(ca.SX(3, 1), ca.SX(3, 1)))
        for mass in self.tree.bodies:
            wrench, along = mass.inertial_wrench(accelerations)
            carried[mass.frame] += wrench
            force += _placed(along, mass.amplitudes, n)
        for frame in reversed(self.tree.frames):
            force += _placed(frame.project(carried[frame]), frame.indices, n)
            if frame.parent:
                carried[frame.parent] += frame.to_parent(carried[frame])
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


def _add_coupling(M: ca.SX, carriers: tuple[BodyFrame, ...], indices: tuple[int, ...], momentum: Wrench) -> None:
    """Add the momenta of unit velocities, given at the first carrier, projected on the subspaces of all carriers."""
    for carrier in carriers:
        block = carrier.project(momentum)
        _add(M, carrier.indices, indices, block)
        _add(M, indices, carrier.indices, block.T)
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
    """How many velocities of a base are linear, and how many velocities it has."""
    linear = len(tree.root.chain[-1].indices)
    angular = len(tree.root.indices)
    return linear, linear + angular


class LtlFactors(NamedTuple):
    """Sparse factors of a symmetric positive definite matrix in Featherstone's LTL order.

    A tree numbered from the root outward gets no fill-in when it is eliminated from the last coordinate to the first,
    so the order is reversed around CasADi's sparse LDL^T factorisation.
    """

    D: ca.SX
    upper: ca.SX  #: L^T without its diagonal of ones
    order: list[int]  #: from the last coordinate to the first
    permutation: list[int]  #: of CasADi's factorisation: none

    @classmethod
    def of(cls, M: ca.SX) -> LtlFactors:
        """Factors of M."""
        order = list(range(M.shape[0]))[::-1]
        D, upper, permutation = ca.ldl(M[order, order], False)
        return cls(D, upper, order, permutation)


def solve(M: ca.SX, rhs: ca.SX) -> ca.SX:
    """M^-1 rhs for a symmetric positive definite M."""
    D, upper, order, permutation = LtlFactors.of(M)
    return ca.ldl_solve(rhs[order, :], D, upper, permutation)[order, :]
