"""Names and units of the coordinates of a module or of several, in the order of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from granite.config.modules import Module


class Coordinate(NamedTuple):
    """One entry of q or u: name and unit."""

    name: str
    unit: str

    @property
    def key(self) -> str:
        """The name with its unit, as a user types it: `shoulder_rad`, `base_x_m_s`."""
        return f"{self.name}_{key_of_unit(self.unit)}" if self.unit != "1" else self.name


def key_of_unit(unit: str) -> str:
    """A unit as a part of a key: `m/s` becomes `m_s`, `N m` becomes `n_m`."""
    return unit.replace("/", "_").replace("^", "").replace(" ", "_").lower()


def positions(module: Module) -> tuple[Coordinate, ...]:
    """The entries of q: floating root first, then one per joint, then the modes of each flexible link."""
    root = module.root.name
    base: list[Coordinate] = []
    if module.base == "floating":
        base = [Coordinate(f"{root}_x", "m"), Coordinate(f"{root}_y", "m")]
        if module.dimension == "planar":
            base.append(Coordinate(f"{root}_heading", "rad"))
        else:
            base.append(Coordinate(f"{root}_z", "m"))
            base += [Coordinate(f"{root}_q{axis}", "1") for axis in "wxyz"]
    return (*base, *joints(module), *amplitudes(module))


def velocities(module: Module) -> tuple[Coordinate, ...]:
    """The entries of u: velocity of the root's origin in world axes, its rate in body axes, joint and mode rates."""
    root = module.root.name
    base: list[Coordinate] = []
    if module.base == "floating":
        base = [Coordinate(f"{root}_x", "m/s"), Coordinate(f"{root}_y", "m/s")]
        if module.dimension == "planar":
            base.append(Coordinate(f"{root}_heading", "rad/s"))
        else:
            base.append(Coordinate(f"{root}_z", "m/s"))
            base += [Coordinate(f"{root}_w{axis}", "rad/s") for axis in "xyz"]
    return (*base, *(Coordinate(c.name, f"{c.unit}/s") for c in (*joints(module), *amplitudes(module))))


def n_root_positions(module: Module) -> int:
    """Number of coordinates of the root's pose: 0 where the base is fixed."""
    if module.base == "fixed":
        return 0
    return 3 if module.dimension == "planar" else 7


def n_root_velocities(module: Module) -> int:
    """Number of velocities of the root: 0 where the base is fixed."""
    if module.base == "fixed":
        return 0
    return 3 if module.dimension == "planar" else 6


def joints(module: Module) -> tuple[Coordinate, ...]:
    """One coordinate for each joint."""
    return tuple(Coordinate(j.name, _unit(j.kind)) for j in module.joints_in_tree_order())


def amplitudes(module: Module) -> tuple[Coordinate, ...]:
    """The modes of the flexible links, link after link: along y, along z, twist about x, stretch."""
    coordinates = []
    for body in module.in_tree_order():
        if (link := body.flexible) is not None:
            counts = (("y", link.modes_y), ("z", link.modes_z), ("x", link.modes_x), ("s", link.modes_stretch))
            for axis, modes in counts:
                unit = "rad" if axis == "x" else "m"
                coordinates += [Coordinate(f"{body.name}_{axis}{k}", unit) for k in range(1, modes + 1)]
    return tuple(coordinates)


def of_all(modules: Sequence[Module], part: Callable[[Module], tuple[Coordinate, ...]]) -> tuple[Coordinate, ...]:
    """The `part` of several modules, one after the other, each name with its module's before it; of one, as it is."""
    if len(modules) == 1:
        return part(modules[0])
    return tuple(Coordinate(f"{m.name}_{c.name}", c.unit) for m in modules for c in part(m))


def _unit(kind: str) -> str:
    return "rad" if kind == "revolute" else "m"
