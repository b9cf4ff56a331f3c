"""Shapes of links and the outline of a body: the convex hull of its boxes, cylinders and spheres, as seen along z."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from granite.config.convex import convex_hull
from granite.config.errors import InputError
from granite.config.rotations import Array, rotation
from granite.config.urdf.elements import needed, number, numbers, origin

_CORNERS = 24  #: of a circle
_CIRCLE = [(math.cos(a), math.sin(a)) for a in np.arange(_CORNERS) * (2 * math.pi / _CORNERS)]


class VisualShape(NamedTuple):
    """The convex hull of balls of one radius about some points."""

    points: Array  #: (n, 3) [m]
    radius: float  #: [m]

    def seen_from(self, R: Array, p: Array) -> VisualShape:
        """The same shape in the frame in which its own has the axes R and the origin p."""
        return VisualShape(self.points @ R.T + p, self.radius)


def shapes_of(link: Element) -> tuple[list[VisualShape], Counter[str]]:
    """The shapes of a link's visuals in its axes, and the tags of those not drawn: meshes, and incomplete ones."""
    shapes, not_drawn = [], Counter[str]()
    for visual in link.findall("visual"):
        kind = next((kind.tag for geometry in visual.findall("geometry") for kind in geometry), "visual")
        try:
            shape = _shape(needed("visual", visual, "geometry"), kind)
            position, rpy = origin("visual", visual)
        except InputError:
            not_drawn[kind] += 1
        else:
            shapes.append(shape.seen_from(rotation(rpy), np.array(position)))
    return shapes, not_drawn


def _shape(geometry: Element, kind: str) -> VisualShape:
    element = needed("visual", geometry, kind)
    if kind == "box":
        corners = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        return VisualShape(corners * numbers("visual", element, "size", 3), 0.0)
    if kind == "sphere":
        return VisualShape(np.zeros((1, 3)), abs(number("visual", element, "radius")))
    if kind == "cylinder":
        radius, length = (number("visual", element, key) for key in ("radius", "length"))
        ends = [(x, y, z) for x, y in _CIRCLE for z in (-0.5, 0.5)]
        return VisualShape(np.array(ends) * (radius, radius, length), 0.0)
    raise InputError(f"<{kind}> is not drawn", expected="a box, a cylinder or a sphere")


def outline(shapes: Sequence[VisualShape]) -> list[list[float]]:
    """The corners of the convex hull of the shapes as seen along z, counterclockwise; none if it has no area."""
    seen: set[tuple[float, float]] = set()
    for points, radius in shapes:
        around = [(radius * x, radius * y) for x, y in _CIRCLE] if radius else [(0.0, 0.0)]
        seen |= {(x + dx, y + dy) for x, y, _ in points.tolist() for dx, dy in around}
    corners = convex_hull(seen)
    return [list(corner) for corner in corners] if len(corners) > 2 else []
