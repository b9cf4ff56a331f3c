"""Sparse symmetric elimination, symbolically: K = L D L^T in an order that keeps zeros, and the solution of K x = b.

For matrices whose pivots cannot vanish in any order: positive definite ones, and quasi-definite ones such as
[-S -A; -A^T H] with S and H positive definite (Vanderbei 1995). Next comes always the unknown that is tied to the
fewest others, so the cost follows the structure: linear along a series of modules and in the number of chains around
one body, in whatever order they are named.
"""

from __future__ import annotations

import casadi as ca


def eliminate(K: ca.SX, b: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Solution of K x = b for every column of b, and the pivot of every row. Only the upper triangle of K is read."""
    rows: list[dict[int, ca.SX]] = [{} for _ in range(K.shape[0])]
    for i, j in zip(*K.sparsity().get_triplet(), strict=True):
        if i <= j:
            rows[i][j] = rows[j][i] = K[i, j]
    x, inverse = [b[i, :] for i in range(len(rows))], {}
    pivots = [ca.SX(1)] * len(rows)
    left = set(range(len(rows)))
    while left:
        i = min(left, key=lambda row: (len(rows[row]), row))
        left.remove(i)
        pivots[i] = rows[i].pop(i)
        inverse[i] = 1 / pivots[i]
        tied = sorted(rows[i])
        for n, j in enumerate(tied):
            factor = rows[i][j] * inverse[i]
            for k in tied[n:]:
                rows[j][k] = rows[k][j] = rows[j].get(k, 0) - factor * rows[i][k]
            del rows[j][i]
            x[j] -= factor * x[i]
    for i in reversed(inverse):
        for j, entry in rows[i].items():
            x[i] -= entry * x[j]
        x[i] *= inverse[i]
    return ca.vertcat(ca.SX(0, b.shape[1]), *x), ca.vertcat(ca.SX(0, 1), *pivots)
