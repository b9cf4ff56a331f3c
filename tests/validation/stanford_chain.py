"""A planar chain of rigid links in absolute angles, and the recursion of its M and N (Stanford report of 1987)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from granite.config.modules import Body, Joint, Module
from granite.kernels.kernel import Array

J = np.array([[0.0, -1.0], [1.0, 0.0]])


@dataclass(frozen=True)
class Chain:
    """Masses, inertias, lengths, and mass centres in link axes."""

    mass: Array
    inertia: Array
    length: Array
    centre: Array

    @property
    def n(self) -> int:
        return len(self.mass)


def random_chain(n: int, seed: int) -> Chain:
    rng = np.random.default_rng(seed)
    c = np.column_stack([rng.uniform(0.1, 0.3, n), rng.uniform(-0.1, 0.1, n)])
    return Chain(rng.uniform(0.5, 3, n), rng.uniform(0.01, 0.1, n), rng.uniform(0.2, 0.5, n), c)


def turned(angle: float, vector: Array) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ vector


def recursion(chain: Chain, phi: Array, u: Array, reference: int | None = None) -> tuple[Array, Array]:
    """M and N. The reference point is the start of link 1, or the mass centre of the link of that index."""
    n, b = chain.n, reference
    v, v_dot = np.zeros((n + 2, 2)), np.zeros((n + 2, 2))  # partial velocities of the start of link 1
    v[n:] = np.eye(2)
    if b is not None:
        for r in range(b + 1):
            arm = turned(phi[r], chain.centre[b] if r == b else np.array([chain.length[r], 0.0]))
            v[r], v_dot[r] = -J @ arm, u[r] * arm
    M, N = np.diag([*chain.inertia, 0.0, 0.0]), np.zeros((n + 2, n + 2))
    for i in range(n):
        centre, along = turned(phi[i], chain.centre[i]), turned(phi[i], np.array([chain.length[i], 0.0]))
        v_c, v_c_dot = v.copy(), v_dot.copy()
        v_c[i] += J @ centre
        v_c_dot[i] -= u[i] * centre
        M += chain.mass[i] * v_c @ v_c.T
        N += chain.mass[i] * v_c @ v_c_dot.T
        v[i] += J @ along
        v_dot[i] -= u[i] * along
    return M, N


def module_of(chain: Chain, name: str = "chain") -> Module:
    """Root is link 1; the base moves with the start of link 1."""
    bodies = [
        Body(
            name=f"link{i}", mass_kg=chain.mass[i], com_m=tuple(chain.centre[i]), inertia_kg_m2=float(chain.inertia[i])
        )
        for i in range(chain.n)
    ]
    joints = [
        Joint(name=f"joint{i}", parent=f"link{i - 1}", child=f"link{i}", origin_m=(chain.length[i - 1], 0.0))
        for i in range(1, chain.n)
    ]
    return Module(name=name, dimension="planar", base="floating", bodies=tuple(bodies), joints=tuple(joints))


def absolute_rates(n: int) -> Array:
    """A of u_report = A u_ours: ours are base velocity, rate of link 1, relative rates."""
    A = np.zeros((n + 2, n + 2))
    A[:n, 2:] = np.tril(np.ones((n, n)))
    A[n:, :2] = np.eye(2)
    return A
