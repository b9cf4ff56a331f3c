"""A module's bodies, joints and points from a URDF file.

A joint has the same meaning there and here, so its numbers are unchanged. A link behind a fixed joint is not a body:
its inertia is lumped into the body that carries it, and its frame becomes a point of its name. Elements without
effect on the motion are skipped with a note; unsupported elements with an effect are refused by name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from granite.config.errors import InputError
from granite.config.urdf.bodies import build_bodies, check_mass, lump
from granite.config.urdf.flat import laid_flat
from granite.config.urdf.parsing import parse
from granite.config.urdf.tables import Robot, tables_of

__all__ = ["Robot", "read_urdf"]


def read_urdf(
    path: Path,
    dimension: Literal["planar", "spatial"],
    base: Literal["fixed", "floating"],
    mimic: Literal["refuse", "lock"] = "refuse",
) -> Robot:
    """The robot in that file, in the plane of its root's x and y where it is planar.

    A joint that mimics another one is refused, or locked where it stands while that one is at zero. The module checks
    that every joint moves a mass, because it may add bodies to those of the file.
    """
    try:
        links, joints, notes = parse(path, mimic == "lock")
        bodies = build_bodies(links, joints)
        for body in bodies:
            lump(body, links)
            notes += check_mass(body, base)
        return tables_of(laid_flat(bodies) if dimension == "planar" else bodies, dimension, notes)
    except InputError as reason:
        raise reason.within(file=str(path)) from None
