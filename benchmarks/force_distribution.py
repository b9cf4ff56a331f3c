"""A force distribution written in CVXPY, per tick: ours beside CVXPY, CVXPYgen, qpsolvers, and DAQP by itself.

Two arms with pins in a plane, and two arms in space with friction cones; a grasp within all limits, and one at some of
them. All solve the same grasps; the solvers that take matrices are given them, ours and CVXPY evaluate them from the
grasp.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from itertools import cycle
from typing import Any

import cvxpy as cp
import daqp
import numpy as np
import qpsolvers

from benchmarks.result import Result, side_by_side
from granite.controllers.distribution.force_distribution import ForceDistribution
from granite.controllers.distribution.reduction import CvxpyProblem, assign, write
from tests.support.random_grasps import CASES, Case, draw


def measure() -> Iterator[Result]:
    for case in (CASES[1], CASES[4]):
        for is_limited in (False, True):
            yield from _beside_others(case, is_limited)


def _beside_others(case: Case, is_limited: bool) -> Iterator[Result]:
    limits = "limits active" if is_limited else "no limit active"
    what = f"force distribution, {len(case.shape.grips)} arms, {case.shape.n_wrench} wrench components, {limits}"
    rng, solver, written = np.random.default_rng(1), ForceDistribution(case.table, case.shape), _written(case)
    # A grasp that changes a little from tick to tick.
    while True:
        first = draw(case, rng)
        solver.solve(first)
        if solver.is_limited == is_limited:
            break
    grasps = [first._replace(load=first.load * (1 - 1e-3 * k)) for k in range(20)]
    problems = [solver.build_problem(grasp) for grasp in grasps]
    ours, raw = cycle(grasps), cycle(problems)
    calls: dict[str, Callable[[], object]] = {
        "granite": lambda: solver.solve(next(ours)),
        "DAQP by itself": lambda: daqp.solve(*next(raw)),
    }
    split = cycle([_split(problem) for problem in problems])
    for name in ("daqp", "quadprog"):
        calls[f"qpsolvers, {name}"] = lambda name=name: qpsolvers.solve_qp(*next(split), solver=name)  # type: ignore[misc]
    times = side_by_side(calls, number=500)
    slow = side_by_side(_slow_calls(written, grasps), number=20, rounds=9)
    for name, seconds in {**times, **slow}.items():
        if name == "granite":
            continue
        goal, met = "", None
        if name == "DAQP by itself":
            goal, met = "at most 2", times["granite"] <= 2 * seconds
        elif name == "CVXPY solve, DAQP":
            goal, met = "at most 0.02", times["granite"] <= 0.02 * seconds
        yield Result(what, "us", 1e6 * times["granite"], 1e6 * seconds, name, goal, met)


def _written(case: Case) -> CvxpyProblem:
    return write(case.table, case.shape)


def _slow_calls(written: CvxpyProblem, grasps: list[Any]) -> dict[str, Callable[[], object]]:
    """CVXPY's own solve with parameters that change, and its generated code where that builds."""
    values = []
    for grasp in grasps:
        assign(written, grasp)
        values.append([np.array(parameter.value) for parameter in written.problem.parameters()])
    turn = cycle(values)

    def given() -> None:
        for parameter, value in zip(written.problem.parameters(), next(turn), strict=True):
            parameter.value = value

    def with_method(**how: Any) -> Callable[[], object]:
        def call() -> object:
            given()
            return written.problem.solve(**how)

        call()
        return call

    calls = {"CVXPY solve, DAQP": with_method(solver=cp.DAQP)}
    if importlib.util.find_spec("cvxpygen") is not None:
        with tempfile.TemporaryDirectory() as folder:
            if _is_generated(written, folder, f"generated_{len(grasps[0].load)}"):
                calls["CVXPYgen, OSQP"] = with_method(method="CPG")
    return calls


def _is_generated(written: CvxpyProblem, folder: str, name: str) -> bool:
    """Whether CVXPYgen could write and build its code for the problem; it is then one of the problem's methods."""
    from cvxpygen import cpg

    sys.path.insert(0, folder)
    try:
        with chdir(folder):
            cpg.generate_code(written.problem, code_dir=name, solver=cp.OSQP, prefix=name, wrapper=True)
            module = importlib.import_module(f"{name}.cpg_solver")
            written.problem.register_solve("CPG", module.cpg_solve)
            written.problem.solve(method="CPG")
    except Exception as error:
        print(f"CVXPYgen does not build here: {type(error).__name__}: {error}")
        return False
    finally:
        sys.path.remove(folder)
    return True


def _split(problem: Any) -> tuple[Any, ...]:
    """P, q, G, h, A, b of qpsolvers."""
    equal = problem.sense == 5
    upper, lower = ~equal & (problem.upper < 1e29), ~equal & (problem.lower > -1e29)
    G = np.vstack([problem.A[upper], -problem.A[lower]])
    h = np.concatenate([problem.upper[upper], -problem.lower[lower]])
    return problem.H, problem.f, G, h, problem.A[equal], problem.upper[equal]
