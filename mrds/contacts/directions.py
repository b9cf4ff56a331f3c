"""How far the directions that hold differ from each other, measured by the motion that each of them alone would cause.

With M = L L^T and B = L^-1 A^T, the columns of B at unit length are those directions in the metric of the masses. Their
singular values B / |B| = U sines V are 1 where they are at right angles, and 0 where one is a sum of others; with B and
not B^T B no condition number is squared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.mrds.kernel import Array

#: below this, the constraints depend on each other: forces are then the smallest of all that do
DEPENDENT = 1e-9
#: a direction that no velocity moves more than this is one that cannot move: what is left is rounding [m/rad]
IMMOVABLE = 1e-12


class Directions(NamedTuple):
    """The factors of M and of the constraints."""

    L: Array
    B: Array
    unit: Array  #: 1 / |column of B|, zero where nothing can move along it
    U: Array
    sines: Array
    V: Array

    @classmethod
    def of(cls, M: Array, A: Array) -> Directions:
        """Of a mass matrix and a constraint matrix."""
        L = np.asarray(np.linalg.cholesky(M), dtype=np.float64)
        B = np.asarray(np.linalg.solve(L, A.T), dtype=np.float64)
        length, moves = np.linalg.norm(B, axis=0), np.abs(A).max(axis=1, initial=0.0) > IMMOVABLE
        unit = np.divide(1.0, length, out=np.zeros_like(length), where=moves)
        return cls(L, B, unit, *np.linalg.svd(B * unit, full_matrices=False))

    @property
    def independence(self) -> float:
        """The least singular value against the greatest."""
        enough = len(self.sines) == len(self.unit) and self.sines.max(initial=0.0) > 0
        return float(self.sines[-1] / self.sines[0]) if enough else float(len(self.unit) == 0)

    def entangled(self) -> Array:
        """Which directions depend on others, or cannot move at all."""
        moves = self.sines > DEPENDENT * self.sines.max(initial=0.0)
        # What of a unit force along each is not seen in the motion.
        hidden = 1 - (self.V[moves] ** 2).sum(axis=0)
        return np.asarray(hidden > 1e-6)
