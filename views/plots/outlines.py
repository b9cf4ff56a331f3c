"""Outlines of a module in one pose, as polygons in axes of the page: its base that floats, and its arms."""

from __future__ import annotations

from collections.abc import Iterator

from granite.config.records import Array
from granite.views.plots.shapes import bar, capsule, circle, rounded_hull
from granite.views.plots.silhouette import Silhouette

#: half a strut's width relative to the reach of the base
_STRUT = 0.3


def base_outlines(module: Silhouette, points: Array) -> Iterator[Array]:
    """Struts to the far points of a base that floats, then the body itself; none of another base."""
    if (base := module.base) is None:
        return
    for end in base.struts:
        yield bar(points[module.root], points[end], _STRUT * base.reach)
    corners = points[base.corners]
    if len(corners) == 1:
        yield circle(corners[0], base.radius)
    else:
        yield rounded_hull(corners, base.radius) if base.radius else corners


def arm_outlines(module: Silhouette, points: Array, thickness: float) -> Iterator[Array]:
    """The rigid parts of its arms, one after the other."""
    for start, end in module.links:
        yield capsule(points[start], points[end], thickness)
    for outline in module.outlines:
        yield points[outline]
