"""Sun 1996, section 5.1: the equality-constrained quadratic programme in three forms (test 4), and limits (test 26)."""

from __future__ import annotations

import numpy as np
import pytest

from granite.config.distribution import ForceDistributionTable
from granite.config.records import Array
from granite.controllers.distribution.force_distribution import DistributionOutcome, ForceDistribution
from granite.controllers.distribution.grasp import Grasp
from tests.validation.claims import Claims
from tests.validation.sun_distribution import LIMITS, grasp_matrix, shape

pytestmark = pytest.mark.usefixtures("interpreted")


def solver(objective: list[object], limit: list[object], limits: Array = LIMITS) -> ForceDistribution:
    table = {"objective": objective, "limit": limit, "tie_break": 1e-14}
    return ForceDistribution(ForceDistributionTable.model_validate(table), shape(np.zeros((0, 0)), limits))


def drawn(seed: int) -> Grasp:
    """Random arms that hold the bar of the test bed at a random angle."""
    rng = np.random.default_rng(seed)
    return Grasp.rigid(
        grasp_matrix(rng.uniform(-3, 3)),
        rng.normal(size=3),
        rng.normal(size=6),
        np.eye(6) + 0.3 * rng.normal(size=(6, 6)),
    )


def by_conditions(A: Array, b: Array, W: Array, c: Array) -> Array:
    """(5.4) to (5.6): the conditions of optimality in one solve."""
    K = np.block([[W, A.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.solve(K, np.concatenate([-c, b]))[: len(c)]


def by_formula(A: Array, b: Array, W: Array, c: Array) -> Array:
    """(5.9)."""
    Y = np.linalg.solve(W, A.T)
    turned = np.linalg.solve(W, c)
    return Y @ np.linalg.solve(A @ Y, A @ turned + b) - turned


def by_null_space(A: Array, b: Array, W: Array, c: Array) -> Array:
    """The form that needs W only on the null space of A."""
    x, N = np.linalg.pinv(A) @ b, np.linalg.svd(A)[2][len(A) :].T
    return x - N @ np.linalg.solve(N.T @ W @ N, N.T @ (W @ x + c))


def test_sun04_all_forms_of_the_programme_agree_with_ours(claims: Claims) -> None:
    ours, off, formula = solver(["torque_norm"], []), 0.0, 0.0
    for seed in range(50):
        g = drawn(seed)
        data = g.matrix, g.load, g.torque_map.T @ g.torque_map, g.torque_map.T @ g.free_torque
        expected = by_conditions(*data)
        formula = max(formula, *(np.abs(form(*data) - expected).max() for form in (by_formula, by_null_space)))
        off = max(off, float(np.abs(ours.solve(g).wrench - expected).max()))
    claims.below("Sun 4", "(5.9) and the null-space form against the conditions of optimality", 1e-9, formula)
    claims.below("Sun 4", "the distribution `torque_norm` against them", 1e-9, off, "N, N m")


def test_sun04_least_internal_force_is_the_pseudo_inverse(claims: Claims) -> None:
    ours = solver(["least_internal_force"], [])
    off = max(np.abs(ours.solve(g).wrench - np.linalg.pinv(g.matrix) @ g.load).max() for g in map(drawn, range(50)))
    claims.below("Sun 4", "the distribution `least_internal_force` against A1^+ b1", 1e-12, off, "N, N m")


def test_sun26_limits_that_are_not_reached_change_nothing(claims: Claims) -> None:
    """Table 5.1: 150, 40 and 9.8 N m."""
    free, limited = solver(["torque_norm"], []), solver(["torque_norm"], ["torque"])
    off = max(np.abs(free.solve(g).wrench - limited.solve(g).wrench).max() for g in map(drawn, range(50)))
    claims.below("Sun 26", "wrenches within the limits of Table 5.1 against those without limits", 1e-9, off, "N, N m")


def test_sun26_limits_that_shrink_are_kept(claims: Claims) -> None:
    grasp, over, active = drawn(3), 0.0, 0
    free = np.abs(solver(["least_internal_force"], []).solve(grasp).torque)
    for share in np.linspace(1.0, 0.3, 15):
        limits = np.full(6, share * free.max())
        answer = solver(["least_internal_force"], ["torque"], limits).solve(grasp)
        over = max(over, float((np.abs(answer.torque) - limits).max()))
        active += bool(answer.outcome == DistributionOutcome.OPTIMAL and (np.abs(answer.torque) > limits - 1e-9).any())
    claims.below("Sun 26", "torque beyond limits that shrink to 30 % of the free torque", 1e-9, over, "N m")
    assert active > 5
