"""Sparse symmetric elimination in a given order, symbolically: K = L D L^T, and the solution of K x = b.

For matrices whose pivots are known not to vanish in that order: positive definite ones, and quasi-definite ones such as
[-S A; A^T H] with S and H positive definite. Zeros that the topology implies stay zeros, so that the cost follows the
structure: linear along a series of modules, and linear in the number of chains around one body.
"""

from __future__ import annotations

import casadi as ca


def eliminate(K: ca.SX, b: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Solution of K x = b, eliminating from the first row to the last, and the pivots."""
    n = K.shape[0]
    rows = [{j: K[i, j] for j in range(i, n) if K.sparsity().has_nz(i, j)} for i in range(n)]
    x = [b[i] for i in range(n)]
    pivots = []
    for i in range(n):
        row = rows[i]
        pivot = row.pop(i)
        pivots.append(pivot)
        for j, entry in row.items():
            factor = entry / pivot
            for k, other in row.items():
                if k >= j:
                    rows[j][k] = rows[j][k] - factor * other if k in rows[j] else -factor * other
            x[j] -= factor * x[i]
    for i in reversed(range(n)):
        total = x[i]
        for j, entry in rows[i].items():
            total -= entry * x[j]
        x[i] = total / pivots[i]
    return ca.vertcat(*x), ca.vertcat(*pivots)
