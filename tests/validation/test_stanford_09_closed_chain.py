"""Stanford report of 1987, appendix B.5, acceptance test 9: the planar chain whose end is pinned to its start.

As corrected: with v_r the partial velocities of the end of link n, the loop closes where sum v_r u_r = 0. Dotted with
x_n it gives u_1, with x_1 it gives u_n: u = C^T u~, and C M C^T u~' = -C (N C^T + M C'^T) u~ + C F.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import fsolve

from granite.config.contacts import Contact, Side
from granite.config.modules import Point
from granite.kernels.kernel import Array
from granite.mrds.system import System
from tests.validation.claims import Claims
from tests.validation.stanford_chain import Chain, J, absolute_rates, module_of, random_chain, recursion, turned

N = 5


def closed_pose(chain: Chain, seed: int) -> Array:
    """Absolute angles with which the end of the last link meets the start of the first."""
    phi = np.linspace(0, 2 * np.pi, N, endpoint=False) + 0.1 * np.random.default_rng(seed).normal(size=N)

    def apart(last: Array) -> Array:
        angles = np.concatenate([phi[:-2], last])
        return sum(turned(a, np.array([length, 0.0])) for a, length in zip(angles, chain.length, strict=True))

    phi[-2:] = fsolve(apart, phi[-2:], xtol=1e-13)
    return phi


def reduction(chain: Chain, phi: Array) -> Array:
    """C (n x n+2): u~ are u_2 .. u_n-1 and the velocity of the start."""
    v = [length * J @ turned(a, np.array([1.0, 0.0])) for a, length in zip(phi, chain.length, strict=True)]
    x_1, x_n = turned(phi[0], np.array([1.0, 0.0])), turned(phi[-1], np.array([1.0, 0.0]))
    C = np.zeros((N, N + 2))
    for row, r in enumerate(range(1, N - 1)):
        C[row, r] = 1.0
        C[row, 0], C[row, N - 1] = -(v[r] @ x_n) / (v[0] @ x_n), -(v[r] @ x_1) / (v[-1] @ x_1)
    C[N - 2, N] = C[N - 1, N + 1] = 1.0
    return C


def rate_of_reduction(chain: Chain, phi: Array, u: Array) -> Array:
    """C' by a difference of order eight."""
    h, weights = 1e-3, {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    ahead = {k: reduction(chain, phi + k * h * u[:N]) - reduction(chain, phi - k * h * u[:N]) for k in weights}
    return sum(w * ahead[k] for k, w in weights.items()) / h


@pytest.mark.parametrize("seed", range(3))
def test_stanford09_the_closed_chain_reduced_and_by_contact_forces(
    seed: int, monkeypatch: pytest.MonkeyPatch, claims: Claims
) -> None:
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    chain = random_chain(N, seed)
    chain.length[:] = np.array([0.4, 0.35, 0.3, 0.45, 0.38])
    phi, rng = closed_pose(chain, seed), np.random.default_rng(seed)
    C = reduction(chain, phi)
    u_free, F = rng.normal(size=N), rng.normal(size=N + 2)
    u = C.T @ u_free
    v = np.stack([length * J @ turned(a, np.array([1.0, 0.0])) for a, length in zip(phi, chain.length, strict=True)])
    what = f"closed chain of {N} links, case {seed + 1}"
    claims.below("Stanford 9", f"{what}: speed at which it opens", 1e-12, np.abs(u[:N] @ v).max(), "m/s")

    M, V = recursion(chain, phi, u)
    C_dot = rate_of_reduction(chain, phi, u)

    def reduced(sign: float) -> Array:
        rest = C @ (V @ C.T + sign * M @ C_dot.T) @ u_free
        return C.T @ np.linalg.solve(C @ M @ C.T, C @ F - rest) + C_dot.T @ u_free

    # the same by a dense KKT solve: A u' = -A' u with A the partial velocities of the end
    A = np.hstack([v.T, np.zeros((2, 2))])
    v_dot = np.stack([-u[i] * length * turned(phi[i], np.array([1.0, 0.0])) for i, length in enumerate(chain.length)])
    kkt = np.linalg.solve(np.block([[M, -A.T], [A, np.zeros((2, 2))]]), np.concatenate([F - V @ u, -(u[:N] @ v_dot)]))[
        : N + 2
    ]
    scale = np.abs(kkt).max()
    off = np.abs(reduced(+1.0) - kkt).max() / scale
    claims.below("Stanford 9", f"{what}: reduced equations against a dense solve, relative", 1e-8, off)
    off = np.abs(reduced(-1.0) - kkt).max() / scale
    claims.above("Stanford 9", f"{what}: with the printed sign off by, relative", 1e-2, off)

    # and by a contact between two points of one module
    points = (
        Point(name="start", body="link0", position_m=(0.0, 0.0)),
        Point(name="end", body=f"link{N - 1}", position_m=(float(chain.length[-1]), 0.0)),
    )
    module = module_of(chain).model_copy(update={"points": points})
    pin = Contact(
        name="pin", kind="revolute", first=Side(module="chain", point="start"), second=Side(module="chain", point="end")
    )
    closed = System([module], [pin]).contact_set()
    rates = absolute_rates(N)
    q = np.concatenate([[0.3, -0.2], np.diff(phi, prepend=0.0)])
    gap, slip = closed.errors(q, np.linalg.solve(rates, u))
    assert np.abs(gap).max() < 1e-12
    assert np.abs(slip).max() < 1e-12
    motion = closed.accelerate(q, np.linalg.solve(rates, u), rates.T @ F)
    off = np.abs(rates @ motion.acceleration - kkt).max() / scale
    claims.below("Stanford 9", f"{what}: our contact against a dense solve, relative", 1e-9, off)
