"""A module seen from its operational points: what its contacts need to know of it (Bonaventura 2002, chapter 5).

Nothing here knows what the points will be joined to, so one compiled function serves every contact set, and modules
that differ only in where their fixed base stands share it.
"""

from __future__ import annotations

import casadi as ca

from config.base import spatial
from config.modules import Module, Point
from mrds.contacts.kind import PLANAR
from mrds.dynamics import Dynamics, solve
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
    solved = solve(dynamics.mass_matrix, ca.horzcat(force - dynamics.bias, J.T))
    u_open, Psi = solved[:, 0], solved[:, 1:]
    outputs = [*poses, J @ u_open + drift, u_open, Psi, J @ Psi]
    names = [*POSE, "open", "u_open", "Psi", "inverse_inertia"]
    return _function(f"leaf_{module.name}", tree, force, base, outputs, names)


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


def _kinematics(
    module: Module, points: tuple[Point, ...], planar: bool
) -> tuple[Tree, ca.SX, ca.SX, ca.SX, list[ca.SX]]:
    base = ca.SX.sym("base", 12)
    tree = Tree(module, base_pose=(base[:3], ca.reshape(base[3:], 3, 3)) if module.base == "fixed" else None)
    rows = PLANAR if planar else list(range(6))
    positions, axes, twists = [], [], []
    for point in points:
        at = tree.point(point.body, point.position_m)
        positions.append(at.position)
        axes.append(at.rotation @ rotation_of_angles(point.rotation_rad))
        twists.append(ca.vertcat(at.velocity, at.angular_velocity)[rows])
    twist = ca.densify(ca.vertcat(*twists)) if twists else ca.SX(0, 1)
    J, drift = ca.jacobian(twist, tree.u), ca.jtimes(twist, tree.q, tree.q_dot)
    return tree, base, J, drift, [ca.vertcat(*positions), ca.horzcat(*axes), twist]


def _function(name: str, tree: Tree, force: ca.SX, base: ca.SX, outputs: list[ca.SX], names: list[str]) -> ca.Function:
    dense = [ca.densify(output) for output in outputs]
    return ca.Function(name, [tree.q, tree.u, force, base], dense, ["q", "u", "force", "base"], names, {"cse": True})


def base_pose(module: Module) -> ca.DM:
    """Where the fixed base of a module stands: position, then its axes column by column."""
    axes = ca.densify(rotation_of_angles(module.placement_rad))
    return ca.evalf(ca.vertcat(vector(spatial(module.placement_m)), ca.reshape(axes, 9, 1)))
