"""Dynamics of a module from its kinematics alone, by automatic differentiation.

With the twists V(q, u) of all bodies (mass-centre velocity and angular velocity, body axes), which are linear in u:

    inverse dynamics   tau = (dV/du)^T f(q, u, u') + K q + D u,   f = [m (v' + w x v - R^T g); I w' + w x I w]

where V' = dV/dq q' + dV/du u' is one forward sweep of differentiation and the product with (dV/du)^T one reverse
sweep: together they are the recursive Newton-Euler algorithm, which is nowhere written down. M = d tau/d u' and the
bias h = tau at u' = 0 give M u' + h = F. K and D are stiffness and damping of flexible links; their mass has several
velocities v, and a matrix of integrals for m. The form holds for any linear velocity map, so the quaternion's needs no
special case (Kane's equations; Stanford report, appendix B with erratum E1).
"""

from __future__ import annotations

from itertools import accumulate

import casadi as ca

from mrds.tree import Tree


class Dynamics:
    """Expressions in `tree.q`, `tree.u`, and for inverse dynamics `acceleration`."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.acceleration = ca.SX.sym("a", tree.u.numel())
        self._twist = ca.vertcat(*(ca.vertcat(*b.fields, b.spin) for b in tree.bodies))
        self.bias = self._inverse(ca.jtimes(self._twist, tree.q, tree.q_dot), tree.gravity)
        self.inverse = self._inverse(
            ca.jtimes(self._twist, ca.vertcat(tree.q, tree.u), ca.vertcat(tree.q_dot, self.acceleration)),
            tree.gravity,
        )
        self.mass_matrix = ca.jacobian(self.inverse, self.acceleration)
        self.gravity_force = -self._weight(tree.gravity)

    def forward(self, force: ca.SX) -> ca.SX:
        """Acceleration under a generalised force: M u' = F - h, by a sparse factorisation from the tips inward."""
        return solve(self.mass_matrix, force - self.bias)

    def kinetic_energy(self) -> ca.SX:
        """Kinetic energy [J]."""
        parts = []
        for b in self.tree.bodies:
            v = ca.horzcat(*b.fields)
            parts.append(ca.dot(b.gram, v.T @ v) + ca.dot(b.spin, b.inertia @ b.spin))
        return 0.5 * sum(parts[1:], parts[0])

    def potential_energy(self) -> ca.SX:
        """Potential energy of gravity, zero at the world origin, and strain energy [J]."""
        parts = [-b.mass * ca.dot(self.tree.gravity, b.p_WC) for b in self.tree.bodies]
        parts += [link.strain_energy for link in self.tree.links.values()]
        return sum(parts[1:], parts[0])

    def momentum(self) -> ca.SX:
        """Linear momentum [N s], then angular momentum about the world origin [N m s]."""
        linear, angular = ca.SX(3, 1), ca.SX(3, 1)
        for b in self.tree.bodies:
            momenta = ca.horzsplit((b.R_WB @ ca.horzcat(*b.fields)) @ b.gram)
            linear += sum(share * p for share, p in zip(b.shares, momenta, strict=True))
            turning = sum(ca.cross(place, p) for place, p in zip(b.places, momenta, strict=True))
            angular += turning + b.R_WB @ (b.inertia @ b.spin)[:3]
        return ca.vertcat(linear, angular)

    def centre_of_mass(self) -> ca.SX:
        """Position of the mass centre of the module [m]."""
        parts = [b.mass * b.p_WC for b in self.tree.bodies]
        return sum(parts[1:], parts[0]) / sum(b.mass for b in self.tree.bodies)

    def _inverse(self, twist_rate: ca.SX, gravity: ca.SX) -> ca.SX:
        """The generalised force that goes with these rates of the body-axis twists."""
        forces, rates = [], iter(ca.vertsplit(twist_rate, self._parts()))
        for b in self.tree.bodies:
            accelerations = [
                next(rates) + ca.cross(b.w_B, v) - share * (b.R_WB.T @ gravity)
                for v, share in zip(b.fields, b.shares, strict=True)
            ]
            forces += ca.horzsplit(ca.horzcat(*accelerations) @ b.gram)
            spun = b.inertia @ next(rates)
            forces.append(spun + ca.vertcat(ca.cross(b.w_B, (b.inertia @ b.spin)[:3]), ca.SX(spun.numel() - 3, 1)))
        force = ca.densify(ca.jtimes(self._twist, self.tree.u, ca.vertcat(*forces), True))
        return force + self.tree.elastic_force()

    def _weight(self, gravity: ca.SX) -> ca.SX:
        """Generalised force of a uniform acceleration field on all masses."""
        pulls = []
        for b in self.tree.bodies:
            pull = b.R_WB.T @ gravity
            pulls += ca.horzsplit(ca.horzcat(*(share * pull for share in b.shares)) @ b.gram)
            pulls.append(ca.SX(b.spin.numel(), 1))
        return ca.densify(ca.jtimes(self._twist, self.tree.u, ca.vertcat(*pulls), True))

    def _parts(self) -> list[int]:
        """Where the vectors in the twist begin, and where the last one ends."""
        sizes = [n for b in self.tree.bodies for n in (*(3 for _ in b.shares), b.spin.numel())]
        return [0, *accumulate(sizes)]


def force_on_root(tree: Tree, wrench: ca.SX) -> ca.SX:
    """Generalised force of a wrench on the root body about its origin, in its own axes."""
    root = tree.body(tree.module.root.name)
    planar = tree.module.dimension == "planar"
    twist = ca.vertcat(root.v_B[:2], root.w_B[2]) if planar else ca.vertcat(root.v_B, root.w_B)
    return ca.densify(ca.jtimes(ca.densify(twist), tree.u, wrench, True))


def wrench_on_root(tree: Tree, force: ca.SX) -> ca.SX:
    """The part of a generalised force that acts on a floating root body, as a wrench about its origin in its own axes.

    The inverse of `force_on_root`; nothing where the base is fixed.
    """
    if tree.module.base == "fixed":
        return ca.SX(0, 1)
    R = tree.bodies[0].R_WB
    if tree.module.dimension == "planar":
        return ca.densify(ca.vertcat(R[:2, :2].T @ force[:2], force[2]))
    return ca.densify(ca.vertcat(R.T @ force[:3], force[3:6]))


def solve(M: ca.SX, rhs: ca.SX) -> ca.SX:
    """M^-1 rhs for a symmetric positive definite M.

    A tree numbered from the root outward fills no zero when it is eliminated from the last coordinate to the first
    (Featherstone's LTL order), so the order is reversed around CasADi's sparse LDL factorisation.
    """
    backwards = list(range(M.shape[0]))[::-1]
    D, L, order = ca.ldl(M[backwards, backwards], False)
    return ca.ldl_solve(rhs[backwards, :], D, L, order)[backwards, :]
