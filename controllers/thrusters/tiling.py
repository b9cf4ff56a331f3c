"""All optima of the least-propellant programme at once: a tiling of the wrenches in reach.

The dual of min c.f subject to C f = w, 0 <= f <= a is max over y of w.y - sum_j a_j max(0, C_j.y - c_j). It is
piecewise linear in y, so an optimum lies where r of the planes C_j.y = c_j meet, one vertex for each basis of r
columns. The optimum at the vertex y_k has the thrusters beyond their plane (C_j.y_k > c_j) open, the ones before it
closed, and those of the basis between: f_B = C_B^-1 (w - sum of the open ones). All wrenches with this optimum form a
parallelepiped; together they tile the zonotope of the wrenches in reach (Ziegler, Lectures on Polytopes, 1995,
section 7.5). So the largest of the linear functions w.y_k - d_k names the optimum: one product with a table.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array

#: longer tables are refused: a look-up would take longer than a tick has
MOST_TILES = 10_000
#: as the compiled form has room for
MOST_THRUSTERS = 64
#: a basis that is nearer to singular is left out: its tile is thinner than the tolerance of a thrust
_CONDITION = 1e9
#: by at most this part the costs of two thrusters differ, so that no two optima are equal
_UNEQUAL = 5e-5
_GOLDEN = 0.6180339887498949


class Tiling(NamedTuple):
    """A row for each tile of r columns out of n."""

    normals: Array  #: (k, r) y of each
    offsets: Array  #: (k) d of each
    basis: Array  #: (k, r) whole numbers: the columns of the basis
    inverse: Array  #: (k, r, r) of C_B
    shift: Array  #: (k, r) thrust of the basis at w = 0
    outside: Array  #: (k, n) thrust of all others; zero in the basis


def tile(columns: Array, available: Array) -> Tiling:
    """The tiling for thrusters with these columns (r x n, rank r) and these largest thrusts.

    Raises
    ------
    InputError
        Where there are too many thrusters for a table.
    """
    r, n = columns.shape
    if n > MOST_THRUSTERS or comb(n, r) > MOST_TILES:
        raise InputError(
            f"{n} thrusters in {r} directions have {comb(n, r)} optima",
            key="controller.allocation.sharing",
            value="least_propellant",
            expected=f"at most {MOST_TILES} optima and {MOST_THRUSTERS} thrusters, or another method",
        )
    # Cubes: equal steps would make the costs of a rectangle of nozzles equal again, C_a - C_b = C_c - C_d.
    cost = 1.0 + _UNEQUAL * (np.arange(1, n + 1) ** 3 * _GOLDEN % 1.0)
    basis = np.array(list(combinations(range(n), r)))
    matrices = np.moveaxis(columns[:, basis], 0, 1)
    regular = np.linalg.cond(matrices) < _CONDITION
    basis, inverse = basis[regular], np.linalg.inv(matrices[regular])
    normals = np.einsum("kij,ki->kj", inverse, cost[basis])
    beyond = normals @ columns - cost
    np.put_along_axis(beyond, basis, 0.0, axis=1)
    outside = np.where(beyond > 0.0, available, 0.0)
    shift = np.einsum("kij,kj->ki", inverse, -(outside @ columns.T))
    return Tiling(normals, (beyond * outside).sum(axis=1), basis, inverse, shift, outside)
