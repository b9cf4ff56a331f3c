"""Bending of a flexible link under a force at its tip, at rest and to first order: K a = J' F on its modes."""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.coordinates import amplitudes
from granite.config.modules import Module
from granite.config.records import Array
from granite.mrds.dynamics import Dynamics
from granite.mrds.tree import Tree


def modes_per_newton(module: Module, body: str, axis: str) -> Array:
    """Amplitudes of all modes of a module (n) [m/N] per newton across the tip of a link, with its joints held.

    Parameters
    ----------
    module, body
        The module, and which of its flexible links.
    axis
        Of the force in the axes of the link: y or z.
    """
    tree, n = Tree(module), len(amplitudes(module))
    [link] = [candidate.flexible for candidate in module.bodies if candidate.name == body]
    assert link is not None
    bias, first = Dynamics(tree).bias, tree.u.numel() - n
    length = (link.length_m, 0.0) if module.dimension == "planar" else (link.length_m, 0.0, 0.0)
    tip = tree.point(body, length)
    force = tip.rotation[:, "xyz".index(axis)]
    modes = tree.q[tree.q.numel() - n :]
    stiffness = ca.jacobian(bias[first:], modes)
    along = tip.jacobian[:3, first:].T @ force
    rest = np.zeros(tree.q.numel())
    if module.base == "floating" and module.dimension == "spatial":
        rest[3] = 1.0  # of the quaternion
    values = ca.Function("tip", [tree.q, tree.u], [stiffness, along])
    K, load = (part.full() for part in values(rest, np.zeros(tree.u.numel())))
    return np.asarray(np.linalg.solve(K, load)[:, 0])
