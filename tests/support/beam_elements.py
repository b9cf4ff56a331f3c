"""Small motions of planar bodies and beams by finite elements, without any of Granite's model.

Each part has coordinates of its own in world axes, joints are linear constraints between them, and the modes are those
of the null space of all constraints: Z' K Z a = w^2 Z' M Z a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.linalg import block_diag, eigh, null_space

from granite.kernels.kernel import Array

#: a section, and the distance of the point from it in world axes
Point = tuple[int, Sequence[float]]
HERE = (0.0, 0.0)


class Parts:
    """Bodies and beams about a pose; a section of a part is a map from its coordinates to x, y and rotation."""

    def __init__(self) -> None:
        self._mass: list[Array] = []
        self._stiffness: list[Array] = []
        self._sections: list[tuple[int, Array]] = []
        self._constraints: list[list[tuple[int, Array]]] = []
        self._n = 0

    def body(self, mass: float, inertia: float, com: Sequence[float], angle: float) -> int:
        """A rigid body; its section is at its origin."""
        c = turn(angle) @ com
        at_com = np.array([[1.0, 0.0, -c[1]], [0.0, 1.0, c[0]], [0.0, 0.0, 1.0]])
        M = at_com.T @ np.diag([mass, mass, inertia]) @ at_com
        return self._add(M, np.zeros((3, 3)), [np.eye(3)])[0]

    def beam(self, length: float, density: float, ei: float, angle: float, elements: int = 12) -> tuple[int, int]:
        """A beam that keeps its length, in cubic elements; sections of base and tip."""
        h, n = length / elements, 1 + 2 * (elements + 1)
        M, K = np.zeros((n, n)), np.zeros((n, n))
        M[0, 0] = density * length  # along its axis it moves as one
        m = [[156, 22 * h, 54, -13 * h], [22 * h, 4 * h * h, 13 * h, -3 * h * h],
             [54, 13 * h, 156, -22 * h], [-13 * h, -3 * h * h, -22 * h, 4 * h * h]]  # fmt: skip
        k = [[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h],
             [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]]  # fmt: skip
        for e in range(elements):
            at = slice(1 + 2 * e, 5 + 2 * e)
            M[at, at] += density * h / 420 * np.array(m)
            K[at, at] += ei / h**3 * np.array(k)
        ends = []
        for node in (0, elements):
            section = np.zeros((3, n))
            section[:2, 0], section[:2, 1 + 2 * node] = turn(angle).T
            section[2, 2 + 2 * node] = 1.0
            ends.append(section)
        base, tip = self._add(M, K, ends)
        return base, tip

    def join(self, first: Point, second: Point | None, *, pinned: bool) -> None:
        """Two points move alike, or one is at rest; `pinned` leaves their rotations free."""
        terms = []
        for sign, point in ((1.0, first), (-1.0, second)):
            if point is not None:
                section, (dx, dy) = point
                at = sign * np.array([[1.0, 0.0, -dy], [0.0, 1.0, dx], [0.0, 0.0, 1.0]])
                column, part = self._sections[section]
                terms.append((column, (at @ part)[: 2 if pinned else 3]))
        self._constraints.append(terms)

    def frequencies(self) -> list[float]:
        """Of all modes, ascending; 0 of a rigid-body mode [Hz]."""
        rows = []
        for terms in self._constraints:
            row = np.zeros((len(terms[0][1]), self._n))
            for column, block in terms:
                row[:, column : column + block.shape[1]] += block
            rows.append(row)
        Z = null_space(np.vstack(rows))
        squares = eigh(Z.T @ block_diag(*self._stiffness) @ Z, Z.T @ block_diag(*self._mass) @ Z, eigvals_only=True)
        return [math.sqrt(max(w2, 0.0)) / (2 * math.pi) for w2 in squares]

    def _add(self, M: Array, K: Array, sections: list[Array]) -> list[int]:
        self._mass.append(M)
        self._stiffness.append(K)
        first = len(self._sections)
        self._sections += [(self._n, section) for section in sections]
        self._n += len(M)
        return list(range(first, len(self._sections)))


def turn(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s], [s, c]])
