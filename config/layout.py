"""Indices of the coordinates of each module in a vector of several modules' coordinates, by the module's name."""

from __future__ import annotations

from collections.abc import Sequence

from granite.config import coordinates
from granite.config.coordinates import Coordinate
from granite.config.modules import Flexible, Module


class Layout:
    """Coordinates q and velocities u of some modules, one module after the other.

    Parameters
    ----------
    modules
        In the order of their coordinates.
    prefixed
        Whether names begin with that of the module: they do where a testbed has several.
    """

    def __init__(self, modules: Sequence[Module], prefixed: bool) -> None:
        self.modules = tuple(modules)
        self._prefixed = prefixed
        #: slices of each module in q and in u
        self.q: dict[str, slice] = {}
        self.u: dict[str, slice] = {}
        positions: list[Coordinate] = []
        velocities: list[Coordinate] = []
        joints: list[str] = []
        for module in modules:
            self.q[module.name] = _append(positions, self._named(module, coordinates.positions(module)))
            self.u[module.name] = _append(velocities, self._named(module, coordinates.velocities(module)))
            joints += [c.name for c in self._named(module, coordinates.joints(module))]
        self.positions = tuple(positions)
        self.velocities = tuple(velocities)
        self.joints = tuple(joints)

    def name(self, module: Module, part: str) -> str:
        """Name of a part of a module in this layout."""
        return f"{module.name}_{part}" if self._prefixed else part

    def flexible_links(self) -> dict[str, Flexible]:
        """The flexible links of all modules, by name."""
        return {
            self.name(module, body.name): body.flexible
            for module in self.modules
            for body in module.in_tree_order()
            if body.flexible is not None
        }

    def joint_q(self, joint: str) -> int:
        """Index of a joint's coordinate in q."""
        return [c.name for c in self.positions].index(joint)

    def joint_u(self, joint: str) -> int:
        """Index of a joint's velocity in u."""
        return [c.name for c in self.velocities].index(joint)

    def module_of(self, joint: str) -> Module:
        """The module that a joint belongs to."""
        return next(m for m in self.modules for c in coordinates.joints(m) if self.name(m, c.name) == joint)

    def root_q(self, module: Module) -> slice:
        """Indices of the pose of a floating root in q; empty for a fixed one."""
        start = self.q[module.name].start
        return slice(start, start + coordinates.n_root_positions(module))

    def root_u(self, module: Module) -> slice:
        """Indices of the velocity of a floating root in u; empty for a fixed one."""
        start = self.u[module.name].start
        return slice(start, start + coordinates.n_root_velocities(module))

    def _named(self, module: Module, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
        return [Coordinate(self.name(module, c.name), c.unit) for c in coordinates]


def _append(all_of_them: list[Coordinate], coordinates: list[Coordinate]) -> slice:
    start = len(all_of_them)
    all_of_them += coordinates
    return slice(start, len(all_of_them))
