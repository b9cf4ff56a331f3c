"""Solutions judge themselves."""

import numpy as np

from granite.controllers.distribution.quadratic_program import EQUALITY, INFEASIBLE, QuadraticProgram


def random_problem(rng: np.random.Generator, n: int = 6, m: int = 3) -> QuadraticProgram:
    """Strictly convex, with a feasible point."""
    root, A, x = rng.standard_normal((n, n)), rng.standard_normal((m, n)), rng.uniform(0.2, 0.8, n)
    upper = np.concatenate([np.ones(n), A @ x])
    lower = np.concatenate([np.zeros(n), A @ x])
    sense = np.array([0] * n + [EQUALITY] * m, dtype=np.int32)
    return QuadraticProgram(root @ root.T + 0.1 * np.eye(n), rng.standard_normal(n), A, upper, lower, sense)


def test_an_optimum_fulfils_the_conditions_of_optimality() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        solution = random_problem(rng).solve()
        assert solution.is_optimal
        assert solution.status == "optimal"
        assert solution.primal_residual < 1e-9
        assert solution.dual_residual < 1e-8


def test_residuals_see_what_is_no_optimum() -> None:
    solution = random_problem(np.random.default_rng(2)).solve()
    moved = solution._replace(x=solution.x + 0.1)
    assert moved.primal_residual > 1e-3
    assert moved.dual_residual > 1e-3


def test_contradicting_bounds_are_infeasible() -> None:
    problem = random_problem(np.random.default_rng(3))
    far = np.array([0.0] * 6 + [100.0] * 3)
    solution = problem._replace(lower=problem.lower + far, upper=problem.upper + far).solve()
    assert (solution.flag, solution.status, solution.is_optimal) == (INFEASIBLE, "infeasible", False)
