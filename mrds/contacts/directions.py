"""Independence of the constraints of a contact set, in the metric of the mass matrix.

With M = L L^T and B = L^-1 A^T, the Delassus matrix is B^T B, and the columns of B at unit length are the directions of
the constraints. The singular values of B / |B| = U sines V are 1 where all directions are orthogonal, and 0 where one
is a sum of others. With B in place of B^T B no condition number is squared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.kernels.kernel import Array
from granite.mrds.tolerances import DEPENDENT_SINE, HIDDEN_PART, IMMOVABLE_ROW


class Directions(NamedTuple):
    """Factors of a mass matrix M (n_u, n_u) and of a constraint Jacobian A (n_held, n_u)."""

    L: Array
    B: Array
    unit: Array  #: 1 / |column of B|, zero where the constraint cannot move
    U: Array
    sines: Array
    V: Array

    @classmethod
    def of(cls, M: Array, A: Array) -> Directions:
        """Factorise."""
        L = np.asarray(np.linalg.cholesky(M), dtype=np.float64)
        B = np.asarray(np.linalg.solve(L, A.T), dtype=np.float64)
        length = np.linalg.norm(B, axis=0)
        moves = np.abs(A).max(axis=1, initial=0.0) > IMMOVABLE_ROW
        unit = np.divide(1.0, length, out=np.zeros_like(length), where=moves)
        return cls(L, B, unit, *np.linalg.svd(B * unit, full_matrices=False))

    @property
    def independence(self) -> float:
        """Smallest singular value relative to the largest."""
        enough = len(self.sines) == len(self.unit) and self.sines.max(initial=0.0) > 0
        # LAPACK may give -0.0 as the singular value of a zero column.
        return abs(float(self.sines[-1] / self.sines[0])) if enough else float(len(self.unit) == 0)

    def entangled(self) -> Array:
        """Which constraints depend on others, or cannot move at all (n_held)."""
        moves = self.sines > DEPENDENT_SINE * self.sines.max(initial=0.0)
        # The part of a unit force along each constraint that causes no motion.
        hidden = 1 - (self.V[moves] ** 2).sum(axis=0)
        return np.asarray(hidden > HIDDEN_PART)
