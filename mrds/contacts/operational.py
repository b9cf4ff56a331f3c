"""The modular level of MRDS: one module at its operational points (Bonaventura 2002, chapter 5).

A leaf is eliminated: the global level gets its operational-space inverse inertia and its free acceleration, and
back-substitution gives u' once the contact wrenches are known. A hub is kept: its accelerations stay unknowns of the
Schur complement (Lilly and Orin's reference member).

Nothing here depends on the contacts at the points, so one compiled function serves every contact set, and modules that
differ only in the pose of their fixed base share it.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import casadi as ca

from granite.config.base import spatial
from granite.config.modules import Module, Point
from granite.mrds.contacts.kind import PLANAR
from granite.mrds.dynamics import Dynamics, LtlFactors
from granite.mrds.symbols import rotation_of_angles, vector
from granite.mrds.tree import Tree

#: outputs that all functions begin with, over all points: positions (3 each), axes (3 x 3 each), twists
POSE = ("positions", "axes", "twists")


class Leaf(NamedTuple):
    """A module that is eliminated before the contact forces are solved for, and its back-substitution."""

    eliminate: ca.Function
    back_substitute: ca.Function


def leaf_functions(module: Module, points: tuple[Point, ...], planar: bool) -> Leaf:
    """Elimination of a module, and the back-substitution once contact wrenches W are known.

    eliminate: (q, u, force, base) -> positions, axes, twists, free acceleration x'' (without contacts), factors,
    operational-space inverse inertia Lambda^-1 = J H^-1 J^T (eq. 69).
    back_substitute: (factors, W) -> u' = H^-1 (F - h + J^T W), that is u'_open + Psi W (eqs. 74, 75).
    """
    tree, base, J, drift, poses = _kinematics(module, points, planar)
    dynamics = Dynamics(tree)
    force = ca.SX.sym("force", tree.u.numel())
    half = _HalfSolution(dynamics.mass_matrix, ca.horzcat(force - dynamics.bias, J.T))
    products = half.products()
    outputs = [*poses, products[1:, 0] + drift, half.factors, products[1:, 1:]]
    names = [*POSE, "free_acceleration", "factors", "inverse_inertia"]
    eliminate = _function(f"leaf_{module.name}", tree, force, base, outputs, names)
    return Leaf(eliminate, half.back_substitution("back_substitute", n_known=1))


def leaf_impulse_functions(module: Module, points: tuple[Point, ...], planar: bool) -> Leaf:
    """The same for impulses: velocity and force terms vanish, so there is no free acceleration."""
    tree, base, J, _, poses = _kinematics(module, points, planar)
    half = _HalfSolution(Dynamics(tree).mass_matrix, J.T)
    outputs = [*poses, half.factors, half.products()]
    names = [*POSE, "factors", "inverse_inertia"]
    force = ca.SX.sym("force", tree.u.numel())
    eliminate = _function(f"leaf_impulse_{module.name}", tree, force, base, outputs, names)
    return Leaf(eliminate, half.back_substitution("back_substitute_impulse", n_known=0))


def hub_function(module: Module, points: tuple[Point, ...], planar: bool) -> ca.Function:
    """(q, u, force, base) -> positions, axes, twists, drift J' u, net force F - h, mass matrix H, Jacobian J."""
    tree, base, J, drift, poses = _kinematics(module, points, planar)
    dynamics = Dynamics(tree)
    force = ca.SX.sym("force", tree.u.numel())
    outputs = [*poses, drift, force - dynamics.bias, dynamics.mass_matrix, J]
    names = [*POSE, "drift", "net_force", "H", "J"]
    return _function(f"hub_{module.name}", tree, force, base, outputs, names)


def hub_impulse_function(module: Module, points: tuple[Point, ...], planar: bool) -> ca.Function:
    """The same for impulses: without drift and net force."""
    tree, base, J, _, poses = _kinematics(module, points, planar)
    force = ca.SX.sym("force", tree.u.numel())
    outputs = [*poses, Dynamics(tree).mass_matrix, J]
    return _function(f"hub_impulse_{module.name}", tree, force, base, outputs, [*POSE, "H", "J"])


def pose_function(module: Module, points: tuple[Point, ...], planar: bool) -> ca.Function:
    """(q, u, force, base) -> positions, axes, twists: kinematics of the points, without masses."""
    tree, base, _, _, poses = _kinematics(module, points, planar)
    return _function(f"pose_{module.name}", tree, ca.SX.sym("force", tree.u.numel()), base, poses, [*POSE])


class _HalfSolution:
    """H X = B by H = L D L^T, as far as Y = L^-1 B: enough for B^T H^-1 B, and the first half of any H^-1 B c.

    A column of B that acts on one branch of the tree leaves zeros in Y for the other branches, which H^-1 B has not.
    """

    def __init__(self, H: ca.SX, B: ca.SX) -> None:
        self._ltl = LtlFactors.of(H)
        self._inverse = 1 / ca.densify(self._ltl.D)
        self._Y = B[self._ltl.order, :]
        for i, j in self._entries():
            self._Y[j, :] -= self._ltl.upper[i, j] * self._Y[i, :]

    @property
    def _parts(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        return self._ltl.upper, self._inverse, self._Y

    @property
    def factors(self) -> ca.SX:
        """All numbers that back-substitution needs, in one column."""
        return ca.vertcat(*(ca.vec(x.nz[:]) for x in self._parts if x.nnz()))

    def products(self) -> ca.SX:
        """B^T H^-1 B = Y^T D^-1 Y; one triangle of it is computed."""
        k = self._Y.shape[1]
        scaled = self._Y * ca.repmat(self._inverse, 1, k)
        products = ca.SX.zeros(k, k)
        for i in range(k):
            for j in range(i, k):
                products[i, j] = products[j, i] = ca.dot(self._Y[:, i], scaled[:, j])
        return products

    def back_substitution(self, name: str, n_known: int) -> ca.Function:
        """(factors, c) -> H^-1 B [1; c], where `n_known` ones come before c."""
        factors = ca.SX.sym("factors", sum(x.nnz() for x in self._parts))
        pieces = ca.vertsplit(factors, [0, *accumulate(x.nnz() for x in self._parts)])
        upper, inverse, Y = (ca.SX(x.sparsity(), piece) for x, piece in zip(self._parts, pieces, strict=True))
        c = ca.SX.sym("c", Y.shape[1] - n_known)
        x = inverse * ca.densify(Y @ ca.vertcat(ca.SX.ones(n_known), c))
        for i, j in reversed(self._entries()):
            x[i] -= upper[i, j] * x[j]
        return ca.Function(name, [factors, c], [x[self._ltl.order]])

    def _entries(self) -> list[tuple[int, int]]:
        """Entries of the factor that are not zero, in the order of the forward sweep."""
        return sorted(zip(*self._ltl.upper.sparsity().get_triplet(), strict=True))


def _kinematics(
    module: Module, points: tuple[Point, ...], planar: bool
) -> tuple[Tree, ca.SX, ca.SX, ca.SX, list[ca.SX]]:
    """The tree, the symbol of its base pose, J and J' u of all points, and [positions, axes, twists]."""
    base = ca.SX.sym("base", 12)
    tree = Tree(module, _base_symbols(module, base))
    rows, n = PLANAR if planar else list(range(6)), tree.u.numel()
    frames = [tree.point(point.body, point.position_m) for point in points]
    rotations = [rotation_of_angles(point.rotation_rad) for point in points]
    empty = ca.SX(0, 1)
    positions = ca.vertcat(empty, *(at.position for at in frames))
    axes = ca.horzcat(ca.SX(3, 0), *(at.rotation @ R for at, R in zip(frames, rotations, strict=True)))
    twists = ca.vertcat(empty, *(ca.vertcat(at.velocity, at.angular_velocity)[rows] for at in frames))
    J = ca.vertcat(ca.SX(0, n), *(at.jacobian[rows, :] for at in frames))
    drift = ca.vertcat(empty, *(at.drift[rows] for at in frames))
    return tree, base, J, ca.densify(drift), [positions, axes, ca.densify(twists)]


def _base_symbols(module: Module, base: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Position and axes of a fixed base as symbols; those of a planar module keep the zeros of the plane."""
    axes = ca.reshape(base[3:], 3, 3)
    if module.dimension == "spatial":
        return base[:3], axes
    return vector([base[0], base[1]]), ca.diagcat(axes[:2, :2], ca.SX(1))


def _function(name: str, tree: Tree, force: ca.SX, base: ca.SX, outputs: list[ca.SX], names: list[str]) -> ca.Function:
    dense = [ca.densify(output) for output in outputs]
    return ca.Function(name, [tree.q, tree.u, force, base], dense, ["q", "u", "force", "base"], names, {"cse": True})


def base_pose(module: Module) -> ca.DM:
    """Pose of the fixed base of a module (12): position, then its axes column by column."""
    axes = ca.densify(rotation_of_angles(module.placement_rad))
    return ca.evalf(ca.vertcat(vector(spatial(module.placement_m)), ca.reshape(axes, 9, 1)))
