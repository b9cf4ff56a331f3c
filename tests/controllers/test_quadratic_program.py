"""Solutions judge themselves, and a failure carries its problem and status."""

import numpy as np
import pytest

from granite.config.devices.thrusters import Valve
from granite.config.parts import PartTable
from granite.controllers.quadratic_program import EQUALITY, INFEASIBLE, QuadraticProgram, SolveError
from granite.controllers.thrusters.contract import ThrusterSet
from granite.controllers.thrusters.least_propellant import LeastPropellant


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
        assert solution.found
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
    assert (solution.flag, solution.status, solution.found) == (INFEASIBLE, "infeasible", False)


def least_propellant() -> LeastPropellant:
    matrix = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0], [0.1, 0.1, -0.1, -0.1]])
    thrusters = ThrusterSet(matrix, np.ones(4), np.array([1.0, 1.0, 8.0]), Valve(), 0.005)
    return LeastPropellant(PartTable(kind="least_propellant"), thrusters)


def test_a_failed_solve_carries_its_problem_and_the_status_of_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    sharing, solve = least_propellant(), QuadraticProgram.solve
    monkeypatch.setattr(QuadraticProgram, "solve", lambda problem: solve(problem)._replace(flag=-4))
    with pytest.raises(SolveError, match="iteration limit") as failure:
        sharing.share(np.array([0.1, 0.0, 0.0]))
    np.testing.assert_array_equal(failure.value.solution.problem.lower[4:], [0.1, 0.0, 0.0])


def test_a_number_that_is_none_is_never_no_thrust(monkeypatch: pytest.MonkeyPatch) -> None:
    sharing, solve = least_propellant(), QuadraticProgram.solve
    monkeypatch.setattr(QuadraticProgram, "solve", lambda problem: solve(problem)._replace(x=np.full(4, np.nan)))
    with pytest.raises(SolveError):
        sharing.share(np.array([0.1, 0.0, 0.0]))
