"""Stiffness of the flexible links of a module, and the elastic energy in them."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from granite.mrds.tree import Tree


def stiffness(tree: Tree) -> NDArray[np.float64]:
    """K (n_u x n_u) in numbers: the elastic force is K times the coordinates, which start at those of the modes."""
    n = tree.u.numel()
    force = tree.elastic_force()
    K = ca.evalf(ca.densify(ca.jacobian(force, tree.q[tree.q.numel() - n :])))
    return np.asarray(K, dtype=np.float64).reshape(n, n)
