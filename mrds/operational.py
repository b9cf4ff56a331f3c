"""A module seen from its operational points: what its contacts need to know of it (Bonaventura 2002, chapter 5).

Nothing here knows what the points will be joined to, so one compiled function serves every contact set, and modules
that differ only in where their fixed base stands share it.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import casadi as ca

from granite.config.base import spatial
from granite.config.modules import Module, Point
from granite.mrds.contacts.kind import PLANAR
from granite.mrds.dynamics import Dynamics
from granite.mrds.symbols import rotation_of_angles, vector
from granite.mrds.tree import Tree

#: outputs that both functions begin with, over all points: positions (3 each), axes (3 x 3 each), twists, and the
#: acceleration of each point when u' is zero (`drift`) or when no contact acts (`open`)
POSE = ("positions", "axes", "twists")


class Leaf(NamedTuple):
    """A module that is eliminated at once: what it shows of itself, and how it moves once its wrenches are known."""

    shows: ca.Function
    moves: ca.Function


def leaf_functions(module: Module, points: tuple[Point, ...], planar: bool) -> Leaf:
    """What the contacts ask first, and what is left to do when they have answered.

    shows: (q, u, force, base) -> positions, axes, twists, accelerations without contact forces x'', what is kept,
    Lambda^-1 = J H^-1 J^T (eq. 69).
    moves: (kept, W) -> u' = H^-1 (F - h + J^T W), that is u'_open + Psi W (eqs. 74, 75).
    """
    tree, base, J, drift, poses = _kinematics(module, points, planar)
    dynamics, force = Dynamics(tree), ca.SX.sym("force", tree.u.numel())
    half = _HalfSolved(dynamics.mass_matrix, ca.horzcat(force - dynamics.bias, J.T))
    products = half.products()
    outputs = [*poses, products[1:, 0] + drift, half.kept, products[1:, 1:]]
    names = [*POSE, "open", "kept", "inverse_inertia"]
    return Leaf(_function(f"leaf_{module.name}", tree, force, base, outputs, names), half.function("moves", known=1))


def still_leaf_functions(module: Module, points: tuple[Point, ...], planar: bool) -> Leaf:
    """The same for impulses, which no velocity and no force bends: without x'' and u'_open."""
    tree, base, J, _, poses = _kinematics(module, points, planar)
    half = _HalfSolved(Dynamics(tree).mass_matrix, J.T)
    outputs, names = [*poses, half.kept, half.products()], [*POSE, "kept", "inverse_inertia"]
    force = ca.SX.sym("force", tree.u.numel())
    shows = _function(f"still_leaf_{module.name}", tree, force, base, outputs, names)
    return Leaf(shows, half.function("jumps", known=0))


def hub_function(module: Module, points: tuple[Point, ...], planar: bool) -> ca.Function:
    """A module that joins others: its accelerations stay unknowns of the global level.

    So do those of the reference member in Lilly and Orin's simple closed chains.

    (q, u, force, base) -> positions, axes, twists, drift, net force without contacts F - h, H, J.
    """
    tree, base, J, drift, poses = _kinematics(module, points, planar)
    dynamics, force = Dynamics(tree), ca.SX.sym("force", tree.u.numel())
    outputs = [*poses, drift, force - dynamics.bias, dynamics.mass_matrix, J]
    names = [*POSE, "drift", "net_force", "H", "J"]
    return _function(f"hub_{module.name}", tree, force, base, outputs, names)


def still_hub_function(module: Module, points: tuple[Point, ...], planar: bool) -> ca.Function:
    """The same for impulses: without drift and net force."""
    tree, base, J, _, poses = _kinematics(module, points, planar)
    force = ca.SX.sym("force", tree.u.numel())
    outputs = [*poses, Dynamics(tree).mass_matrix, J]
    return _function(f"still_hub_{module.name}", tree, force, base, outputs, [*POSE, "H", "J"])


def pose_function(module: Module, points: tuple[Point, ...], planar: bool) -> ca.Function:
    """(q, u, force, base) -> positions, axes, twists: where the points are and how they move, without any masses."""
    tree, base, _, _, poses = _kinematics(module, points, planar)
    return _function(f"pose_{module.name}", tree, ca.SX.sym("force", tree.u.numel()), base, poses, [*POSE])


class _HalfSolved:
    """H x = B by H = L D L^T, as far as Y = L^-1 B: enough for B^T H^-1 B, and most of the way to any H^-1 B c.

    A tree fills no zero when it is eliminated from the last coordinate to the first (Featherstone's LTL order), and
    what pulls at one branch leaves zeros in Y for the others, which H^-1 B does not have.
    """

    def __init__(self, H: ca.SX, B: ca.SX) -> None:
        self._backwards = list(range(H.shape[0]))[::-1]
        D, self._upper, _ = ca.ldl(H[self._backwards, self._backwards], False)
        self._inverse, self._Y = 1 / ca.densify(D), B[self._backwards, :]
        for i, j in self._entries():
            self._Y[j, :] -= self._upper[i, j] * self._Y[i, :]

    @property
    def kept(self) -> ca.SX:
        """All that the rest of the way needs."""
        return ca.vertcat(*(ca.vec(x.nz[:]) for x in (self._upper, self._inverse, self._Y) if x.nnz()))

    def products(self) -> ca.SX:
        """B^T H^-1 B = Y^T D^-1 Y: one triangle of it."""
        k = self._Y.shape[1]
        scaled, products = self._Y * ca.repmat(self._inverse, 1, k), ca.SX.zeros(k, k)
        for i in range(k):
            for j in range(i, k):
                products[i, j] = products[j, i] = ca.dot(self._Y[:, i], scaled[:, j])
        return products

    def function(self, name: str, known: int) -> ca.Function:
        """(kept, c) -> the rest of the way to H^-1 B [1; c], where `known` ones come before c."""
        parts = self._upper, self._inverse, self._Y
        kept = ca.SX.sym("kept", sum(x.nnz() for x in parts))
        pieces = ca.vertsplit(kept, [0, *accumulate(x.nnz() for x in parts)])
        upper, inverse, Y = (ca.SX(x.sparsity(), piece) for x, piece in zip(parts, pieces, strict=True))
        c = ca.SX.sym("c", Y.shape[1] - known)
        x = inverse * ca.densify(Y @ ca.vertcat(ca.SX.ones(known), c))
        for i, j in reversed(self._entries()):
            x[i] -= upper[i, j] * x[j]
        return ca.Function(name, [kept, c], [x[self._backwards]])

    def _entries(self) -> list[tuple[int, int]]:
        """Where the factor is not zero, in the order of the forward sweep."""
        return sorted(zip(*self._upper.sparsity().get_triplet(), strict=True))


def _kinematics(
    module: Module, points: tuple[Point, ...], planar: bool
) -> tuple[Tree, ca.SX, ca.SX, ca.SX, list[ca.SX]]:
    base = ca.SX.sym("base", 12)
    tree = Tree(module, _standing(module, base))
    rows, n = PLANAR if planar else list(range(6)), tree.u.numel()
    places = [tree.point(point.body, point.position_m) for point in points]
    turns = [rotation_of_angles(point.rotation_rad) for point in points]
    nothing = ca.SX(0, 1)
    positions = ca.vertcat(nothing, *(at.position for at in places))
    axes = ca.horzcat(ca.SX(3, 0), *(at.rotation @ turn for at, turn in zip(places, turns, strict=True)))
    twists = ca.vertcat(nothing, *(ca.vertcat(at.velocity, at.angular_velocity)[rows] for at in places))
    J = ca.vertcat(ca.SX(0, n), *(at.jacobian[rows, :] for at in places))
    drift = ca.vertcat(nothing, *(at.drift[rows] for at in places))
    return tree, base, J, ca.densify(drift), [positions, axes, ca.densify(twists)]


def _standing(module: Module, base: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Position and axes of a fixed base as symbols; what lies in the plane stays there."""
    axes = ca.reshape(base[3:], 3, 3)
    if module.dimension == "spatial":
        return base[:3], axes
    return vector([base[0], base[1]]), ca.diagcat(axes[:2, :2], ca.SX(1))


def _function(name: str, tree: Tree, force: ca.SX, base: ca.SX, outputs: list[ca.SX], names: list[str]) -> ca.Function:
    dense = [ca.densify(output) for output in outputs]
    return ca.Function(name, [tree.q, tree.u, force, base], dense, ["q", "u", "force", "base"], names, {"cse": True})


def base_pose(module: Module) -> ca.DM:
    """Where the fixed base of a module stands: position, then its axes column by column."""
    axes = ca.densify(rotation_of_angles(module.placement_rad))
    return ca.evalf(ca.vertcat(vector(spatial(module.placement_m)), ca.reshape(axes, 9, 1)))
