"""The shape of a rigid base that floats: its outline, an object with corners, or a disc with struts to far points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from granite.config.base import spatial
from granite.config.devices.thrusters import Thruster
from granite.config.modules import Module
from granite.views.plots.body_points import BodyPoints
from granite.views.plots.shapes import edge_along_x, rounded_hull

#: roundness of an object's corners, as a part of its size
_ROUNDING = 0.15
#: where the heading mark starts and ends, and half its width, as parts of the way to the edge
_TAIL, _TIP, _WIDTH = 0.45, 1.0, 0.16
#: heading mark of an object: start, then length and half width in radii of the corners
_OBJECT_TAIL, _OBJECT_LENGTH, _OBJECT_WIDTH = 0.3, 1.0, 0.4


class Base(NamedTuple):
    """A base by the numbers of its points."""

    corners: list[int]  #: one for a disc
    radius: float  #: by which it extends beyond its corners; 0 where they are its outline [m]
    reach: float  #: of all of it from its origin, without struts [m]
    struts: list[int]  #: points of the body far outside, to which it must reach
    heading: list[int]  #: corners of a mark along its x axis


def shape_of_base(module: Module, body_points: BodyPoints, thrusters: Sequence[Thruster]) -> Base:
    """Shape of the root body of a module; one without joints and thrusters is an object, its points are its corners."""
    root = module.root
    held = list(dict.fromkeys(spatial(p.position_m) for p in module.points if p.body == root.name))
    mounted = [spatial(j.origin_m) for j in module.joints if j.parent == root.name]
    mounted += [spatial(unit.position_m) for unit in thrusters]
    struts: list[tuple[float, float, float]] = []
    handled = False
    if root.outline_m:
        corners = [spatial(corner) for corner in root.outline_m]
        radius = 0.0
        edge = edge_along_x(np.array(root.outline_m))
    elif not mounted and len(held) > 1:
        corners = held
        radius = _ROUNDING * float(np.ptp(held, axis=0).max())
        edge = edge_along_x(rounded_hull(np.array(corners)[:, :2], radius))
        handled = True
    else:
        # A disc of the body's mass and inertia about z, or as large as its mounting points require.
        disc = math.sqrt(2 * float(np.ravel(root.inertia_kg_m2)[:3][-1]) / root.mass_kg)
        corners = [(0.0, 0.0, 0.0)]
        radius = max([disc, *(math.hypot(*position) for position in mounted or held)])
        struts = [position for position in held if math.hypot(*position) > 1.05 * radius]
        edge = radius
    tail = _TAIL * edge
    tip = _TIP * edge
    width = _WIDTH * edge
    if handled:
        tail, width = _OBJECT_TAIL * edge, _OBJECT_WIDTH * radius
        tip = tail + _OBJECT_LENGTH * radius
    mark = [(tail, width), (tip, 0.0), (tail, -width)]

    def numbers(at: Sequence[tuple[float, ...]]) -> list[int]:
        return [body_points.on(module.name, root.name, position) for position in at]

    reach = radius + max(math.hypot(*corner) for corner in corners)
    return Base(numbers(corners), radius, reach, numbers(struts), numbers(mark))
