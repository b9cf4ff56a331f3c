"""Sparse elimination: the solution and the pivots of a quasi-definite system, whatever its structure."""

from __future__ import annotations

from itertools import pairwise

import casadi as ca
import numpy as np
import pytest

from granite.mrds.elimination import eliminate


def quasi_definite(seed: int, n_force: int, n_hub: int) -> np.ndarray:
    """[-S -A; -A^T H] with S and H positive definite, S sparse."""
    rng = np.random.default_rng(seed)
    S = np.diag(rng.uniform(1, 2, n_force))
    for i in range(n_force - 1):
        S[i, i + 1] = S[i + 1, i] = rng.uniform(-0.4, 0.4)
    L, A = rng.normal(size=(n_hub, n_hub)), rng.normal(size=(n_force, n_hub))
    return np.block([[-S, -A], [-A.T, L @ L.T + np.eye(n_hub)]])


@pytest.mark.parametrize(("n_force", "n_hub"), [(1, 0), (0, 2), (4, 3), (7, 2)])
def test_every_column_is_solved_and_pivots_have_the_signs_of_their_blocks(n_force: int, n_hub: int) -> None:
    K, b = quasi_definite(n_force, n_force, n_hub), np.random.default_rng(1).normal(size=(n_force + n_hub, 3))
    x, pivots = (np.array(ca.DM(ca.evalf(value))) for value in eliminate(ca.sparsify(ca.SX(K)), ca.SX(b)))
    np.testing.assert_allclose(K @ x, b, atol=1e-12)
    assert (pivots[:n_force] < 0).all()
    assert (pivots[n_force:] > 0).all()


def test_a_chain_costs_in_proportion_to_its_length_in_any_order() -> None:
    def operations(n: int, order: np.ndarray) -> int:
        K = ca.SX(n, n)
        for i in range(n):
            K[i, i] = ca.SX.sym("d")
        for i, j in pairwise(order):
            K[int(i), int(j)] = K[int(j), int(i)] = ca.SX.sym("e")
        b = ca.SX.sym("b", n)
        given = [*ca.symvar(K), *ca.symvar(b)]
        return int(ca.Function("f", given, [eliminate(K, b)[0]]).n_instructions())

    rng = np.random.default_rng(2)
    short, long = operations(20, rng.permutation(20)), operations(40, rng.permutation(40))
    assert long < 2.2 * short


def test_nothing_to_solve_is_nothing() -> None:
    x, pivots = eliminate(ca.SX(0, 0), ca.SX(0, 2))
    assert x.shape == (0, 2)
    assert pivots.shape == (0, 1)
