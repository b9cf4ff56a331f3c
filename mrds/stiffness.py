"""Stiffness of the flexible links of a module, and the elastic energy in them."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from granite.mrds.tree import Tree


def stiffness(tree: Tree) -> NDArray[np.float64]:
    """K (n_u x n_u) in numbers: the elastic force of the links is K times the coordinates."""
    n, modes = tree.u.numel(), sum(link.q.numel() for link in tree.links.values())
    K = np.zeros((n, n))
    # Springs in joints are no part of it: they depend on the coordinates of the joints alone.
    block = ca.evalf(ca.densify(ca.jacobian(tree.elastic_force(), tree.q[tree.q.numel() - modes :])))
    K[:, n - modes :] = np.asarray(block, dtype=np.float64).reshape(n, modes)
    return K
