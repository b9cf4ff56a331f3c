"""Operational-space inertia of a chain (Lilly and Orin)."""

from __future__ import annotations

import numpy as np

from tests.support.dense_model import Model
from tests.support.random_systems import Array


def operational(chain: Model, q: Array, u: Array, force: Array, inverse=np.linalg.inv) -> tuple[Array, Array]:
    """Lambda and open acceleration of the tip's body at the world origin, where the unturned body has its own."""
    tip = chain.point("tip", q, u)
    r = -tip.position
    cross = np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])
    X = np.block([[np.eye(3), -cross], [np.zeros((3, 3)), np.eye(3)]])
    w = tip.twist[3:]
    J, drift = X @ tip.jacobian, X @ tip.drift + np.concatenate([np.cross(w, np.cross(w, r)), np.zeros(3)])
    H = chain.mass_matrix(q).copy()
    x_open = J @ np.linalg.solve(H, force - chain.bias(q, u)) + drift
    return inverse(J @ np.linalg.solve(H, J.T)), x_open
