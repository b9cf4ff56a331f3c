"""Points on the modules of a testbed by number, and their world positions at many instants at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca
import numpy as np

from granite.config.base import spatial
from granite.config.modules import Module
from granite.config.records import Array
from granite.kernels.kernel import Kernel
from granite.mrds.tree import Tree


class BodyPoints:
    """Points by number, one number for one point: `at(q)[:, number]` is its path."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self._trees = {module.name: Tree(module) for module in modules}
        self._positions: list[ca.SX] = []
        self._numbers: dict[tuple[str, str, tuple[float, float, float]], int] = {}
        self._owners: dict[int, tuple[str, str, tuple[float, float, float]]] = {}
        #: the positions as a function of q; None: a point was added since
        self._seen: ca.Function | None = None
        #: the same for one instant at a time, with less effort for each
        self._kernel: Kernel | None = None

    def on(self, module: str, body: str, position: Iterable[float] = (0.0, 0.0)) -> int:
        """A point on a body, given by its position on the undeformed body."""
        x, y, z = spatial(tuple(float(part) for part in position))
        key = module, body, (x, y, z)
        if key not in self._numbers:
            self._numbers[key] = self._add(self._trees[module].point_position(body, (x, y, z)))
            self._owners[self._numbers[key]] = key
        return self._numbers[key]

    def owner(self, number: int) -> tuple[str, str, tuple[float, float, float]] | None:
        """The module and body of a point, and its position there; none of a point fixed in the world."""
        return self._owners.get(number)

    def on_ground(self, position: Iterable[float]) -> int:
        """A point fixed in the world."""
        return self._add(ca.SX(ca.DM(spatial(tuple(position)))))

    def at(self, q: Array) -> Array:
        """x, y and z of every point: (instants, points, 3) [m]; q is that of all modules, one row for each instant."""
        return np.array(self._function()(ca.DM(q.T))).T.reshape(len(q), -1, 3)

    def now(self, q: Array) -> list[list[float]]:
        """x, y and z of every point at one instant [m]."""
        if self._kernel is None:
            self._kernel = Kernel(self._function())
        positions: list[list[float]] = self._kernel.run((np.ascontiguousarray(q),)).reshape(-1, 3).tolist()
        return positions

    def _function(self) -> ca.Function:
        if self._seen is None:
            symbols = ca.vertcat(*(tree.q for tree in self._trees.values()))
            self._seen = ca.Function("seen", [symbols], [ca.densify(ca.vertcat(*self._positions))])
        return self._seen

    def _add(self, position: ca.SX) -> int:
        self._positions.append(position)
        self._seen = self._kernel = None
        return len(self._positions) - 1
