"""The wrenches that thrusters can produce: {B f, 0 <= f <= available}, a zonotope, as half-spaces N w <= c.

Every facet of a zonotope in three dimensions contains two of its generators, so the normals are the cross products of
all pairs of columns; the bound of a normal is its support function, the sum of the positive parts of N B f.
"""

from __future__ import annotations

from itertools import combinations
from math import inf
from typing import NamedTuple

import numpy as np

from granite.config.records import Array

#: planar wrench by row, each with its sign
_NAMES = ("fx", "fy", "mz")
_SMALL = 1e-9


class Reach(NamedTuple):
    """Half-spaces of the planar wrenches in reach."""

    normals: Array  #: (k, 3)
    bounds: Array  #: (k)

    def factor(self, wrench: Array) -> float:
        """How many times this wrench is in reach; infinite for zero."""
        along = self.normals @ wrench
        pushing = along > _SMALL * max(1.0, float(np.abs(wrench).max()))
        return float((self.bounds[pushing] / along[pushing]).min(initial=inf))

    def missing(self) -> tuple[str, ...]:
        """Directions in which no wrench can be produced, such as `-fx`."""
        each = [(f"{sign}{name}", i, float(f"{sign}1")) for i, name in enumerate(_NAMES) for sign in "+-"]
        return tuple(name for name, i, size in each if self.factor(np.eye(3)[i] * size) < _SMALL)


def reach(matrix: Array, available: Array) -> Reach:
    """The reach of thrusters with these columns (planar) and thrusts [N]."""
    columns = (matrix * available).T[available > 0.0]
    normals = [np.cross(a, b) for a, b in combinations(columns, 2)]
    normals += list(np.eye(3))  # of a flat set of wrenches, with the directions that it lacks
    if len(columns):
        _, size, directions = np.linalg.svd(columns)
        rank = int((size > _SMALL * size[0]).sum())
        normals += list(directions[rank:])
    unit = [normal / np.linalg.norm(normal) for normal in normals if np.linalg.norm(normal) > _SMALL]
    both = np.array([sign * normal for normal in unit for sign in (1.0, -1.0)])
    bounds = np.maximum(both @ columns.T, 0.0).sum(axis=1) if len(columns) else np.zeros(len(both))
    return Reach(both, bounds)
