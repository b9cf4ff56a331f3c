"""MacKay's flexible pendulum, and how it swings."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite.config.modules import Module
from tests.support.dense_model import Model
from tests.support.flexible_arms import Array, planar_arm

A, MASS, EI, G = 4.0, 10.955, 2.0e11 * 1.476e-7, 9.81


def link(modes: int, **more: Any) -> dict[str, Any]:
    return {"length_m": A, "line_density_kg_m": MASS / A, "ei_n_m2": EI, "modes_y": modes, **more}


def pendulum(modes: int, links: int = 1, gravity: float = G, **more: Any) -> Module:
    """Hanging along x, along which gravity pulls."""
    name = f"pendulum_{modes}_{links}"
    return planar_arm([link(modes, **more)] * links, name=name, gravity_m_s2=[gravity, 0.0])


def swing(model: Model, q: Array, h: float, steps: int) -> tuple[Array, Array]:
    """Positions after every step from rest, and the energy then against the energy at first."""
    u, still = np.zeros(model.n_u), np.zeros(model.n_u)
    energy = [model.potential_energy(q)]
    path = [q]
    for _ in range(steps):
        q, u = (x.copy() for x in model.rk4(q, u, still, h))
        path.append(q)
        energy.append(model.kinetic_energy(q, u) + model.potential_energy(q))
    return np.array(path), np.array(energy) - energy[0]
