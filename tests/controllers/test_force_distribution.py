"""Answers of the force distribution are optimal, or the least-violating ones, within the bound of iterations."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import granite
from granite.config.loader import load
from granite.config.records import Array
from granite.controllers.distribution.force_distribution import DistributionOutcome, ForceDistribution
from granite.controllers.distribution.grasp import Grasp
from granite.controllers.distribution.quadratic_program import EQUALITY, INFEASIBLE, QuadraticProgram
from granite.controllers.distribution.reduction import assign, write
from granite.controllers.stack import build_stack
from granite.kernels.c_compiler import find_compiler
from granite.kernels.compilation import mode
from tests.support.quick_cases import quick
from tests.support.random_grasps import CASES, LIMIT, Case, draw
from tests.support.random_grasps import case as case_of

TIGHT = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}


def distribution(name: str) -> ForceDistribution:
    return _distribution(name, mode())


@cache
def _distribution(name: str, _: str) -> ForceDistribution:
    chosen = next(case for case in CASES if case.name == name)
    return ForceDistribution(chosen.table, chosen.shape)


def worst_residuals(case: Case, number: int, seed: int) -> float:
    """Largest residual of the conditions of optimality, each by the answer itself and by NumPy."""
    rng, solver, worst = np.random.default_rng(seed), distribution(case.name), 0.0
    for _ in range(number):
        grasp = draw(case, rng)
        answer = solver.solve(grasp)
        assert answer.outcome == DistributionOutcome.OPTIMAL
        assert answer.iterations <= 3 * case.table.iterations
        worst = max(worst, answer.primal_residual, answer.dual_residual, answer.gap)
        off = np.abs(grasp.matrix @ answer.wrench - grasp.load).max()
        assert off <= answer.primal_residual + 1e-12
        assert answer.torque == pytest.approx(grasp.free_torque + grasp.torque_map @ answer.wrench, abs=1e-12)
        assert np.abs(answer.torque).max() <= LIMIT
    return worst


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_answers_fulfil_the_conditions_of_optimality(case: Case) -> None:
    assert worst_residuals(case, 63, seed=1) < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ten_thousand_answers_fulfil_the_conditions_of_optimality(case: Case) -> None:
    assert worst_residuals(case, 10000 // len(CASES), seed=2) < 1e-8


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("case", CASES[:6], ids=lambda case: case.name)
def test_answers_are_those_of_cvxpy(case: Case) -> None:
    rng, written = np.random.default_rng(3), write(case.table, case.shape)
    for _ in range(8):
        grasp = draw(case, rng)
        assign(written, grasp)
        written.problem.solve(**TIGHT)
        expected = written.quantities.wrench.value
        assert distribution(case.name).solve(grasp).wrench == pytest.approx(expected, abs=1e-6)


def errors_to_cvxpy(number: int) -> Array:
    """Of the wrenches of two vehicles in random ticks, many of them at a limit; the programme is that of CVXPY."""
    case = next(case for case in CASES if case.shape.bases)
    rng, written, errors = np.random.default_rng(4), write(case.table, case.shape), []
    for _ in range(number):
        grasp = draw(case, rng)
        assign(written, grasp)
        written.problem.solve(**TIGHT)
        answer = distribution(case.name).solve(grasp)
        errors.append(np.abs(answer.wrench - written.quantities.wrench.value).max())
        assert answer.base == pytest.approx(grasp.free_base + grasp.base_map @ answer.wrench, abs=1e-12)
        for i, base in enumerate(case.shape.bases):
            assert (base.normals @ answer.base[3 * i : 3 * i + 3] <= base.bounds + 1e-6).all()
    return np.array(errors)


@pytest.mark.usefixtures("interpreted")
def test_wrenches_of_vehicles_within_the_reach_of_their_thrusters_are_those_of_cvxpy() -> None:
    assert errors_to_cvxpy(8).max() < 1e-6


@pytest.mark.slow
def test_five_hundred_of_them_are() -> None:
    assert errors_to_cvxpy(500).max() < 1e-6


@pytest.mark.usefixtures("interpreted")
def test_an_answer_within_all_limits_is_that_of_the_solver() -> None:
    """The elimination that most ticks need, against DAQP on the same programme; some answers are at a limit."""
    case = CASES[1]
    rng, solver, within = np.random.default_rng(4), distribution(case.name), 0
    for _ in range(200):
        solver.is_limited = False
        answer = solver.solve(draw(case, rng))
        if answer.iterations == 0:
            within += 1
            expected = solver._solve_with_limits()
            assert expected.iterations > 0
            assert answer.wrench == pytest.approx(expected.wrench, abs=1e-8)
            assert answer.torque == pytest.approx(expected.torque, abs=1e-8)
    assert 5 < within < 195


def test_an_answer_judges_itself_as_its_programme_does() -> None:
    case, rng = CASES[2], np.random.default_rng(4)
    solver = distribution(case.name)
    grasp = draw(case, rng)
    answer, solution = solver.solve(grasp), solver.build_problem(grasp).solve(primal_tol=1e-10)
    assert answer.wrench == pytest.approx(solution.x, abs=1e-9)
    for residual in (solution.primal_residual, solution.dual_residual, solution.gap):
        assert residual < 1e-9
    # The compiled judgement sees an answer that is none.
    solver._judge((solver._data, solution.x + 0.01, solution.multipliers))
    judged = np.array([solver._primal[0], solver._dual[0], solver._gap[0]])
    moved = solution._replace(x=solution.x + 0.01)
    assert judged == pytest.approx([moved.primal_residual, moved.dual_residual, moved.gap], rel=1e-9)
    assert judged.min() > 1e-4


def test_a_warm_start_gives_the_answer_of_a_cold_one_in_fewer_iterations() -> None:
    """A grasp that changes slowly keeps its active set."""
    case, rng = CASES[2], np.random.default_rng(5)
    warm, grasp = ForceDistribution(case.table, case.shape), draw(case, rng)
    iterations = np.zeros(2)
    for k in range(50):
        moved = grasp._replace(load=grasp.load * (1 - 1e-4 * k))
        first, second = warm.solve(moved), ForceDistribution(case.table, case.shape).solve(moved)
        assert first.wrench == pytest.approx(second.wrench, abs=1e-8)
        iterations += first.iterations, second.iterations
    assert iterations[0] < 0.6 * iterations[1]


def overloaded(case: Case, rng: np.random.Generator) -> Grasp:
    """More load than the limits allow."""
    grasp = draw(case, rng)
    return grasp._replace(load=grasp.load + 30 * rng.normal(size=len(grasp.load)))


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("number", "seed"), [(64, 6), pytest.param(1000, 7, marks=pytest.mark.slow)], ids=["some", "a thousand"]
)
def test_an_infeasible_grasp_gets_the_least_violating_answer_within_torque_limits(number: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counted = dict.fromkeys(DistributionOutcome, 0)
    for case in CASES:
        solver = distribution(case.name)
        for _ in range(number // len(CASES)):
            answer = solver.solve(overloaded(case, rng))
            counted[DistributionOutcome(answer.outcome)] += 1
            assert answer.iterations <= 7 * case.table.iterations
            assert np.isfinite([*answer.wrench, *answer.torque]).all()
            assert np.abs(answer.torque).max() <= LIMIT
            if answer.outcome == DistributionOutcome.RELAXED:
                assert answer.violated
                assert answer.primal_residual > 1e-9
                assert answer.failed[0].status == "infeasible"
                assert isinstance(answer.failed[0].problem, QuadraticProgram)
    assert counted[DistributionOutcome.FAILED] == 0
    assert counted[DistributionOutcome.RELAXED] > 0.5 * number


@pytest.mark.usefixtures("interpreted")
def test_no_other_answer_violates_less() -> None:
    """Against the same question asked in CVXPY: least squares of violations under hard torque limits."""
    case, rng = CASES[1], np.random.default_rng(8)
    solver = distribution(case.name)
    for _ in range(10):
        grasp = overloaded(case, rng)
        answer = solver.solve(grasp)
        assert answer.outcome == DistributionOutcome.RELAXED
        problem = solver.build_problem(grasp)
        w, hard = cp.Variable(len(problem.f)), solver._hard
        rows = problem.A @ w
        over = cp.pos(rows - problem.upper) + cp.pos(problem.lower - rows)
        constraints = [rows[hard] <= problem.upper[hard], rows[hard] >= problem.lower[hard]]
        least = cp.Problem(cp.Minimize(cp.sum_squares(over[~hard])), constraints).solve(solver=cp.CLARABEL)
        assert violation(problem, answer.wrench, ~hard) == pytest.approx(least, rel=1e-4, abs=1e-6)


def violation(problem: QuadraticProgram, x: Any, rows: Any) -> float:
    values = problem.A @ x
    over = np.maximum(values - problem.upper, 0.0) + np.maximum(problem.lower - values, 0.0)
    return float((over[rows] ** 2).sum())


@pytest.mark.usefixtures("interpreted")
def test_hard_limits_that_contradict_each_other_cut_the_torques() -> None:
    """Torques that no wrench changes are beyond their limit."""
    case, rng = CASES[1], np.random.default_rng(9)
    grasp = draw(case, rng)
    answer = distribution(case.name).solve(
        grasp._replace(free_torque=np.full(6, 2 * LIMIT), torque_map=np.zeros_like(grasp.torque_map))
    )
    assert answer.outcome == DistributionOutcome.CLIPPED
    assert answer.violated == "limit.0 (torque)"
    assert answer.torque == pytest.approx(np.full(6, LIMIT))
    assert len(answer.failed) == 2


@pytest.mark.parametrize(("least", "most"), [(5.0, 2.0), (5.0, 4.9), (50.0, 1.0)])
def test_limits_that_contradict_each_other_are_violated_least_and_named(least: float, most: float) -> None:
    """Both bound the same force: half way is the least of squares, and an answer that violates is never optimal."""
    limits = [{"kind": "one_sided", "least_n": least}, {"kind": "gripper_force", "force_n": most}]
    made = case_of("contradiction", 2, 0, 2, 0, objective=["torque_norm"], limit=limits)
    answer = ForceDistribution(made.table, made.shape).solve(draw(made, np.random.default_rng(3)))
    assert answer.outcome == DistributionOutcome.RELAXED
    assert answer.violated.startswith("limit.")
    assert answer.primal_residual >= (least - most) / 2 - 1e-6


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_give_no_force_and_say_so(bad: float) -> None:
    case, rng = CASES[1], np.random.default_rng(10)
    solver, good = ForceDistribution(case.table, case.shape), draw(case, rng)
    before = solver.solve(good)
    answer = solver.solve(good._replace(load=np.array([bad, 0.0, 0.0])))
    assert answer.outcome == DistributionOutcome.FAILED
    assert not answer.wrench.any()
    assert not answer.torque.any()
    assert np.isnan(answer.gap)
    # The next tick does not suffer from it.
    assert solver.solve(good).wrench == pytest.approx(before.wrench, abs=1e-10)


def test_the_iterations_of_a_tick_are_bounded() -> None:
    case, rng = CASES[2], np.random.default_rng(11)
    table = case.table.model_copy(update={"iterations": 10})
    solver = ForceDistribution(table, case.shape)
    worst = max((solver.solve(draw(case, rng)) for _ in range(100)), key=lambda answer: answer.iterations)
    assert worst.iterations <= 7 * 10
    assert worst.failed[0].status == "iteration limit"
    assert worst.outcome != DistributionOutcome.OPTIMAL


@pytest.mark.usefixtures("interpreted")
def test_arrays_of_another_size_are_refused() -> None:
    case, rng = CASES[1], np.random.default_rng(12)
    with pytest.raises(ValueError):
        distribution(case.name).solve(draw(case, rng)._replace(load=np.zeros(6)))


@pytest.mark.parametrize("bed", quick(["free-flyer", "fixed-dual-arm/carry"], "fixed-dual-arm/carry"))
def test_a_run_does_not_import_cvxpy_once_its_functions_are_compiled(bed: str) -> None:
    """It takes two seconds; a bed without a distribution never needs it, the other one only for an empty cache."""
    if find_compiler() is None:
        pytest.skip("nothing is cached without a compiler")
    build_stack(load(bed))
    code = "import sys; from granite.config.loader import load; from granite.controllers.stack import build_stack; "
    code += f"build_stack(load({bed!r})); sys.exit('cvxpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.slow
def test_a_distribution_pays_where_an_angle_is_wrong_or_grips_hold_by_friction():
    """The table of docs/force-distribution.md."""
    wrong = {"devices.joint_sensors.simulated.offset_rad": {"left_shoulder": 0.02}}
    least = {"controller.law.distribution.objective": ["least_internal_force"]}
    by_angles, by_forces = (
        granite.simulate(granite.load(bed, {**wrong, **changes})).summary
        for bed, changes in (("fixed-dual-arm/joint-pd", {}), ("fixed-dual-arm/carry", least))
    )
    for summary, force, error in ((by_angles, 0.71, 0.040), (by_forces, 0.12, 0.0016)):
        assert summary["squeeze"]["object"]["max"] == pytest.approx(force, rel=0.1)
        heading = summary["tracking_error"]["object_body_heading"]["max_in_last_5_s"]
        assert heading == pytest.approx(error, rel=0.1)
    pressed = {
        bed: np.abs(granite.simulate(granite.load(f"fixed-dual-arm/{bed}"))["/truth"]["object_squeeze_n"][100:]).min()
        for bed in ("carry", "joint-pd")
    }
    assert pressed["carry"] > 3.2
    assert pressed["joint-pd"] < 0.01


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
