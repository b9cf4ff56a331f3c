"""A small dense quadratic programme and its solution by DAQP: min 1/2 x'Hx + f'x, lower <= (x, A x) <= upper.

The bounds of the variables may be left out: then lower and upper are those of A x alone.

The solution judges itself: its status, and the residuals of the conditions of optimality.
"""

from __future__ import annotations

from typing import NamedTuple

import daqp
import numpy as np
from numpy.typing import NDArray

from granite.config.records import Array

#: DAQP's mark for an equality
EQUALITY = 5
#: DAQP's exit flags; 0 is ours
STATUS = {
    2: "optimal, with softened constraints",
    1: "optimal",
    0: "not solved, because a number is not finite",
    -1: "infeasible",
    -2: "cycling",
    -3: "unbounded",
    -4: "iteration limit",
    -5: "not convex",
    -6: "overdetermined initial active set",
}
INFEASIBLE = -1
#: weight of the objective beside the squares of the violations
_PART = 1e-5


class QuadraticProgram(NamedTuple):
    """The bounds of the variables come first in `lower`, `upper` and `sense`, then those of the rows of A."""

    H: Array
    f: Array
    A: Array
    upper: Array
    lower: Array
    sense: NDArray[np.int32]

    def solve(self, **settings: float) -> Solution:
        """The solution, whatever its status; settings are DAQP's."""
        x, _, flag, info = daqp.solve(self.H, self.f, self.A, self.upper, self.lower, self.sense, **settings)
        return Solution(self, np.asarray(x), int(flag), np.asarray(info["lam"]), int(info["iterations"]))


class Solution(NamedTuple):
    """The answer of the solver."""

    problem: QuadraticProgram
    x: Array
    flag: int  #: DAQP's exit flag
    multipliers: Array
    iterations: int

    @property
    def is_optimal(self) -> bool:
        """Whether it is an optimum."""
        return self.flag > 0 and bool(np.isfinite(self.x).all())

    @property
    def status(self) -> str:
        """The flag in words."""
        return STATUS.get(self.flag, f"flag {self.flag}")

    @property
    def primal_residual(self) -> float:
        """The largest violation of a bound."""
        p, values = self.problem, self._values
        return float(np.maximum(values - p.upper, p.lower - values).max(initial=0.0))

    @property
    def dual_residual(self) -> float:
        """The largest entry of the gradient of the Lagrangian."""
        p, bounds = self.problem, len(self.multipliers) - len(self.problem.A)
        gradient = p.H @ self.x + p.f + p.A.T @ self.multipliers[bounds:]
        gradient[:bounds] += self.multipliers[:bounds]
        return float(np.abs(gradient).max(initial=0.0))

    @property
    def gap(self) -> float:
        """Between the cost and that of the dual problem; zero at the optimum."""
        p, y = self.problem, self.multipliers
        # Multipliers are positive at upper bounds and negative at lower ones.
        bounds = np.where(y > 0, y * p.upper, np.where(y < 0, y * p.lower, 0.0)).sum()
        return float(abs(self.x @ (p.H @ self.x + p.f) + bounds))

    @property
    def _values(self) -> Array:
        """Of everything that has bounds."""
        rows = self.problem.A @ self.x
        return rows if len(rows) == len(self.problem.upper) else np.concatenate([self.x, rows])


def relax(problem: QuadraticProgram, hard: NDArray[np.bool_]) -> QuadraticProgram:
    """The problem of least violation: a slack in every row that is not hard, after the variables.

    The sum of their squares is made small, each row in its own unit. A hundred-thousandth of the objective selects
    among answers that violate alike, and makes the programme strictly convex:

        min 1/2 s.s + eps/2 x'(H/h + 1e-3)x + eps f'x/h,    h the mean of the diagonal of H
    """
    n, soft = len(problem.f), np.flatnonzero(~hard)
    m, k = len(hard), len(soft)
    scale = np.trace(problem.H) / n
    H = np.zeros((n + k, n + k))
    H[:n, :n] = _PART * (problem.H / scale + 1e-3 * np.eye(n))
    H[n:, n:] = np.eye(k)
    A = np.zeros((m, n + k))
    A[:, :n] = problem.A
    A[soft, n + np.arange(k)] = 1.0
    f = np.concatenate([_PART / scale * problem.f, np.zeros(k)])
    # Bounds that contradict each other: half way between them both are violated by the same.
    middle = np.where(~hard & (problem.lower > problem.upper), (problem.lower + problem.upper) / 2, np.nan)
    upper, lower = (np.where(np.isnan(middle), bound, middle) for bound in (problem.upper, problem.lower))
    return QuadraticProgram(H, f, A, upper, lower, problem.sense)
