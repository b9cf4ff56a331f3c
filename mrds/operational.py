"""A module seen from its operational points: what its contacts need to know of it (Bonaventura 2002, chapter 5).

Nothing here knows what the points will be joined to, so one compiled function serves every contact set, and modules
that differ only in where their fixed base stands share it.
"""

from __future__ import annotations

import casadi as ca

from config.base import spatial
from config.modules import Module, Point
from mrds.contacts.kind import PLANAR
from mrds.dynamics import Dynamics
from mrds.symbols import rotation_of_angles, vector
from mrds.tree import Tree

#: outputs that both functions begin with, over all points: positions (3 each), axes (3 x 3 each), twists, and the
#: acceleration of each point when u' is zero (`drift`) or when no contact acts (`open`)
POSE = ("positions", "axes", "twists")


def leaf_function(module: Module, points: tuple[Point, ...], planar: bool) -> ca.Function:
    """A module that is eliminated at once.

    (q, u, force, base) -> positions, axes, twists, accelerations without contact forces x'', u' without contact forces,
    Psi = H^-1 J^T (eq. 75), Lambda^-1 = J H^-1 J^T (eq. 69).
    """
    tree, base, J, drift, poses = _kinematics(module, points, planar)
    dynamics, force = Dynamics(tree), ca.SX.sym("force", tree.u.numel())
    u_open, Psi, inverse_inertia = _mobility(dynamics.mass_matrix, force - dynamics.bias, J)
    outputs = [*poses, J @ u_open + drift, u_open, Psi, inverse_inertia]
    names = [*POSE, "open", "u_open", "Psi", "inverse_inertia"]
    return _function(f"leaf_{module.name}", tree, force, base, outputs, names)


def still_leaf_function(module: Module, points: tuple[Point, ...], planar: bool) -> ca.Function:
    """The same for impulses, which no velocity and no force bends: without x'' and u'."""
    tree, base, J, _, poses = _kinematics(module, points, planar)
    force = ca.SX.sym("force", tree.u.numel())
    _, Psi, inverse_inertia = _mobility(Dynamics(tree).mass_matrix, ca.SX(tree.u.numel(), 1), J)
    names = [*POSE, "Psi", "inverse_inertia"]
    return _function(f"still_leaf_{module.name}", tree, force, base, [*poses, Psi, inverse_inertia], names)


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


def _mobility(H: ca.SX, net_force: ca.SX, J: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """H^-1 f, Psi = H^-1 J^T, and Lambda^-1 = Z^T D^-1 Z with Z = L^-1 J^T and H = L D L^T: one triangle of it.

    A tree fills no zero when it is eliminated from the last coordinate to the first (Featherstone's LTL order).
    """
    n, k = H.shape[0], J.shape[0]
    backwards = list(range(n))[::-1]
    D, upper, _ = ca.ldl(H[backwards, backwards], False)
    x = ca.horzcat(net_force, J.T)[backwards, :]
    for i, j in sorted(zip(*upper.sparsity().get_triplet(), strict=True)):
        x[j, :] -= upper[i, j] * x[i, :]
    scaled = x / ca.repmat(D, 1, k + 1)
    inverse_inertia = ca.SX.zeros(k, k)
    for i in range(k):
        for j in range(i, k):
            inverse_inertia[i, j] = inverse_inertia[j, i] = ca.dot(x[:, i + 1], scaled[:, j + 1])
    for i, j in sorted(zip(*upper.sparsity().get_triplet(), strict=True), reverse=True):
        scaled[i, :] -= upper[i, j] * scaled[j, :]
    solved = scaled[backwards, :]
    return solved[:, 0], solved[:, 1:], inverse_inertia


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
