"""The solution of least violation where no wrenches keep all limits.

Every soft row gets a slack, and the sum of their squares is made small, each row in its own unit; hard rows hold. A
hundred-thousandth of the objective selects among answers that violate alike, and makes the programme strictly convex:

    min 1/2 s.s + eps/2 x'(H/h + 1e-3)x + eps f'x/h,    h the mean of the diagonal of H
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from granite.controllers.distribution.quadratic_program import QuadraticProgram

#: weight of the objective beside the squares of the violations
_PART = 1e-5


def relax(problem: QuadraticProgram, hard: NDArray[np.bool_]) -> QuadraticProgram:
    """The problem with a slack in every row that is not hard; the slacks come after the variables."""
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
