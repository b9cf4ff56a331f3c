"""Contact forces by singular values: the smallest ones, where elimination loses digits or they are not unique."""

from __future__ import annotations

import numpy as np

from granite.kernels.kernel import Array
from granite.mrds.contacts.directions import Directions
from granite.mrds.tolerances import DEPENDENT_SINE


def least_norm(M: Array, f: Array, A: Array, y: Array) -> tuple[Array, Array, float]:
    """M u' = f + A^T F with A u' = y, column by column, with the smallest F by singular values.

    Each constraint is scaled by the motion that it alone would cause. Returns u', F and the independence.
    """
    f, y = as_columns(f), as_columns(y)
    alone = Directions.of(M, A)
    free = np.linalg.solve(alone.L, f)
    used = alone.sines > DEPENDENT_SINE * alone.sines.max(initial=0.0)
    U = alone.U[:, used]
    V = alone.V[used]
    across = alone.sines[used][:, None]
    unit = alone.unit[:, None]
    along = (V @ (unit * (y - alone.B.T @ free))) / across
    return np.linalg.solve(alone.L.T, free + U @ along), unit * (V.T @ (along / across)), alone.independence


def as_columns(matrix: Array) -> Array:
    """A vector as a matrix of one column."""
    return matrix[:, None] if matrix.ndim == 1 else matrix
