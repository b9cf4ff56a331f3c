"""Force distribution: the grasp wrenches of a tick by optimisation, from the problem that `reduction.py` compiled.

Each tick evaluates the programme's data and, in the same way, the optimum without limits. Where that keeps all limits
it is the optimum, because the programme is convex. Elsewhere DAQP solves the programme, also in the next ticks as long
as a limit is active; its workspace keeps the active set of the tick before (warm start). Every answer is finite and
judges itself; where no wrenches keep all limits, it is the least-violating one and says so.
"""

from __future__ import annotations

import hashlib
from enum import IntEnum
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import daqp
import numpy as np

from granite.config.distribution import ForceDistributionTable
from granite.config.parts import find, is_built_in
from granite.config.records import NOTHING, Array
from granite.controllers.distribution.grasp import Grasp, GraspShape
from granite.controllers.distribution.quadratic_program import QuadraticProgram, Solution, relax
from granite.controllers.distribution.reduction import ADDED, owners, reduce
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm

#: violation of a row by the solver that counts as none
_PRIMAL_TOLERANCE = 1e-10
#: an answer that violates a row by more is not optimal [N, N m]
_LARGEST_VIOLATION = 1e-6
#: largest residual of an optimum without limits; DAQP solves again where rounding leaves more
_LARGEST_RESIDUAL = 1e-9


class DistributionOutcome(IntEnum):
    """How good an answer is."""

    OPTIMAL = 0  #: within all limits
    RELAXED = 1  #: all limits together can't be kept: least violation, hard limits kept
    CLIPPED = 2  #: the hard limits alone contradict each other: least violation, torques cut to their limits
    FAILED = 3  #: no answer: numbers that are not finite, or the solver's iterations are used up; all zero


_OPTIMAL = int(DistributionOutcome.OPTIMAL)


class DistributedForce(NamedTuple):
    """An answer, and how far it is from the conditions of optimality."""

    wrench: Array  #: w [N, N m], of all grips on the object
    torque: Array  #: of each driven joint [N m]
    outcome: int  #: a code of `DistributionOutcome`
    iterations: int  #: of the solver, in all attempts
    primal_residual: float  #: largest violation of a row, in its unit
    dual_residual: float  #: largest entry of the gradient of the Lagrangian
    gap: float  #: between primal and dual cost
    base: Array = NOTHING  #: wrenches on the bases of vehicles, in their axes [N, N m]
    violated: str = ""  #: which limit is violated most, or `object` for its equation of motion
    failed: tuple[Solution, ...] = ()  #: attempts that failed before, with their problems and status
    status: int = 1  #: exit flag of the last attempt, a key of `quadratic_program.STATUS`


class ForceDistribution:
    """The distribution of one grasp.

    Parameters
    ----------
    table
        Objectives and limits.
    shape
        What does not change from tick to tick.

    Raises
    ------
    InputError
        Where a term does not fit the grasp, reads an unknown quantity, or is not one of a convex quadratic programme.

    Examples
    --------
    >>> table = ForceDistributionTable(objective=["torque_norm"], limit=["torque"])
    >>> ForceDistribution(table, shape).solve(grasp).torque
    """

    def __init__(self, table: ForceDistributionTable, shape: GraspShape) -> None:
        self.table, self.shape = table, shape
        kernels = compile_once("distribution", _key(table, shape), lambda: reduce(table, shape))
        programme, judge, free = (kernels[name] for name in ("programme", "judge", "without_limits"))
        self._kernels = programme, free
        self._evaluate, self._judge, self._solve_free = programme.run_in_place, judge.run_in_place, free.run
        self._torque, *residuals = judge.outputs
        self._primal, self._dual, self._gap, self._pressed = (residual.data for residual in residuals)
        self._fields = itemgetter(*(Grasp._fields.index(name) for name in self.fields))
        n, m = judge.function.size1_in("x"), judge.function.size1_in("multipliers")
        self._n, n_j, n_w = n, len(shape.joints) + shape.n_base, shape.n_wrench
        self._n_joints = len(shape.joints)
        self._n_wrench, self._adds_variables = n_w, n > n_w
        self._evaluate([np.ones(programme.function.nnz_in())])
        #: the block of all data of a tick, and its parts: H, f, A, upper, lower, sense, owner, tau' with w_b', maps
        (self._data,) = programme.outputs
        shapes = [(n, n), (n,), (m, n), (m,), (m,), (m,), (m,), (n_j,), (n_j, n_w)]
        ends = np.cumsum([np.prod(size) for size in shapes])[:-1]
        parts = [part.reshape(size) for part, size in zip(np.split(self._data, ends), shapes, strict=True)]
        self._sense, self._owner = parts[5].astype(np.int32), parts[6].astype(int)
        H, f, A, upper, lower, *_, free_torque, torque_map = parts
        self._problem = QuadraticProgram(H, f, A, upper, lower, self._sense)
        self._torques = free_torque, torque_map
        self._owners = owners(table)
        hard = [False, True, *(getattr(find("limit", options.kind), "hard", False) for options in table.limit)]
        self._hard = np.array([hard[owner] for owner in self._owner], dtype=bool)
        #: torques at a limit of the programme are beyond it by rounding, which the guard would report
        is_kept = any(options.kind == "torque" for options in table.limit)
        unlimited = np.full(shape.n_base, np.inf)
        self._limit = np.concatenate([shape.torque_limit, unlimited])
        self._most = self._limit if is_kept else np.full(n_j, np.inf)
        self._model = daqp.Model()
        self._model.settings = _settings(table)
        #: 1 where a limit was active in the last tick
        self._is_limited = np.zeros(1)
        self._is_set_up = False

    def compiled_form(self) -> CompiledForm:
        """The optimum without limits in C; a tick that needs DAQP is left to Python."""
        programme, free = self._kernels
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {
                "DISTRIBUTION_DATA": len(self._data),
                "DISTRIBUTION_FIELDS": programme.function.n_in(),
                "DISTRIBUTION_UNKNOWNS": self._n,
                "DISTRIBUTION_LARGEST_RESIDUAL": _LARGEST_RESIDUAL,
            },
            memory={"distribution_is_limited": self._is_limited},
            kernels={"distribution_programme": [programme], "distribution_without_limits": [free]},
        )

    @property
    def fields(self) -> list[str]:
        """The fields of a grasp that the programme reads, in its order."""
        names: list[str] = self._kernels[0].function.name_in()
        return names

    def build_problem(self, grasp: Grasp) -> QuadraticProgram:
        """The quadratic programme of a grasp: of the wrenches, then of variables that the form of a term adds."""
        self._evaluate(self._fields(grasp))
        return _copy(self._problem)

    def solve(self, grasp: Grasp) -> DistributedForce:
        """The wrenches of a tick; whatever the grasp, the answer is finite and within the bound of iterations.

        Raises
        ------
        ValueError
            Where the arrays of the grasp do not have the sizes of the shape.
        """
        self._evaluate(self._fields(grasp))
        if not self._is_limited[0]:
            answer = self._solve_free((self._data,))
            primal, dual, gap = answer[-3:].tolist()
            if primal < _LARGEST_RESIDUAL and dual < _LARGEST_RESIDUAL and gap < _LARGEST_RESIDUAL:
                first, last = self._n, self._n + self._n_joints
                torque, base = answer[first:last], answer[last:-3]
                return DistributedForce(answer[: self._n_wrench], torque, _OPTIMAL, 0, primal, dual, gap, base)
        return self._solve_with_limits()

    def _solve_with_limits(self) -> DistributedForce:
        H, f, A, upper, lower, sense = self._problem
        if self._is_limited[0]:
            flag = self._model.update(H, f, A, upper, lower)
        elif self._is_set_up:
            flag = self._model.update(H, f, A, upper, lower, sense)
        else:
            flag, _ = self._model.setup(H, f, A, upper, lower, sense)
            self._is_set_up = flag >= 0
        spent = 0
        if flag >= 0:
            x, _, flag, info = self._model.solve()
            self._judge((self._data, x, info["lam"]))
            primal, dual, gap = self._primal[0], self._dual[0], self._gap[0]
            spent = info["iterations"]
            if flag > 0 and primal < _LARGEST_VIOLATION and dual + gap < inf:
                self._is_limited[0] = self._pressed[0] > 0
                wrench = x[: self._n_wrench] if self._adds_variables else x
                torque, base = np.split(np.clip(self._torque, -self._most, self._most), [self._n_joints])
                return DistributedForce(wrench, torque, _OPTIMAL, spent, primal, dual, gap, base)
        self._is_limited[0] = 0.0
        return self._without_optimum(_copy(self._problem), spent)

    def _without_optimum(self, problem: QuadraticProgram, spent: int) -> DistributedForce:
        """Once more with proximal iterations from a cold start; then with slack in soft rows, then in all rows.

        An objective that hardly sees some wrenches makes the programme ill-conditioned, and DAQP may then call it
        infeasible or cycle where proximal iterations find the optimum.
        """
        attempts: list[Solution] = []
        if not np.isfinite(self._data).all():
            unsolved = Solution(problem, np.zeros(self._n), 0, np.zeros(len(problem.upper)), 0)
            return self._nothing(spent, (unsolved,))
        contradictory = bool((problem.lower > problem.upper + _LARGEST_VIOLATION).any())
        for hard, outcome in (
            (None, DistributionOutcome.OPTIMAL),
            (self._hard, DistributionOutcome.RELAXED),
            (self._owner == ADDED, DistributionOutcome.CLIPPED),
        ):
            if hard is None and contradictory:
                continue
            asked = problem if hard is None else relax(problem, hard)
            proximal = 1e-2 * np.trace(problem.H) / self._n if hard is None else 1e-3
            solution = asked.solve(**_settings(self.table), eps_prox=proximal, eta_prox=1e-9)
            spent += solution.iterations
            if solution.is_optimal:
                return self._answer(solution, problem, outcome, spent, tuple(attempts))
            attempts.append(solution)
        return self._nothing(spent, tuple(attempts))

    def _answer(
        self,
        solution: Solution,
        problem: QuadraticProgram,
        outcome: DistributionOutcome,
        spent: int,
        attempts: tuple[Solution, ...],
    ) -> DistributedForce:
        x, n_w = solution.x[: self._n], self.shape.n_wrench
        free, turned = self._torques
        limit = self._limit if outcome == DistributionOutcome.CLIPPED else self._most
        torque, base = np.split(np.clip(free + turned @ x[:n_w], -limit, limit), [self._n_joints])
        values = problem.A @ x
        excess = np.maximum(values - problem.upper, problem.lower - values)
        primal, most = (float(excess.max(initial=0.0)), int(excess.argmax())) if len(excess) else (0.0, 0)
        violated = self._owners[self._owner[most]] if outcome != DistributionOutcome.OPTIMAL else ""
        dual, gap = solution.dual_residual, solution.gap
        return DistributedForce(x[:n_w], torque, outcome, spent, primal, dual, gap, base, violated, attempts)

    def _nothing(self, spent: int, attempts: tuple[Solution, ...]) -> DistributedForce:
        wrench, torque, nan = np.zeros(self.shape.n_wrench), np.zeros(len(self.shape.joints)), float("nan")
        status, base, failed = attempts[-1].flag, np.zeros(self.shape.n_base), DistributionOutcome.FAILED
        return DistributedForce(wrench, torque, failed, spent, nan, nan, nan, base, "", attempts, status)


def _copy(problem: QuadraticProgram) -> QuadraticProgram:
    """A programme with memory of its own."""
    H, f, A, upper, lower, sense = problem
    return QuadraticProgram(H.copy(), f.copy(), A.copy(), upper.copy(), lower.copy(), sense)


def _settings(table: ForceDistributionTable) -> dict[str, float]:
    return {"primal_tol": _PRIMAL_TOLERANCE, "iter_limit": table.iterations}


def _key(table: ForceDistributionTable, shape: GraspShape) -> str | None:
    """Everything that the compiled functions follow from; None where a term is a user's own."""
    if not all(is_built_in(options.kind) for options in (*table.objective, *table.limit)):
        return None
    bases = [(base.name, base.normals.tobytes(), base.bounds.tobytes()) for base in shape.bases]
    arrays = shape.torque_limit.tobytes(), shape.stiffness.tobytes(), bases
    content = repr((table.model_dump_json(), shape.grips, shape.joints, shape.period_s, arrays))
    return hashlib.sha256(content.encode()).hexdigest()
