"""Convex polygons in the plane: hull, half-planes, and a part of one between two lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

Corner = tuple[float, float]
#: outward normal and its largest product with a corner
HalfPlane = tuple[float, float, float]

#: largest turn between neighbouring half-planes; with it a distance in front of a corner is at most 8 % too small
_LARGEST_TURN = math.radians(45.0)
#: a point is at most this many times as far from a polygon as its half-planes say
CORNER_FACTOR = 1 / math.cos(_LARGEST_TURN / 2)


def convex_hull(points: Iterable[Corner]) -> list[Corner]:
    """Corners of the convex hull, counterclockwise; fewer than three where it has no area."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered
    return _lower_hull(ordered)[:-1] + _lower_hull(ordered[::-1])[:-1]


def is_convex(corners: Sequence[Corner]) -> bool:
    """Whether corners in turn, either way round, are those of a convex polygon with an area."""
    return len(corners) > 2 and sorted(convex_hull(corners)) == sorted(corners) and _turns_once(corners)


def half_planes(corners: Sequence[Corner]) -> list[HalfPlane]:
    """Half-planes whose intersection is the polygon, and some at its corners for distances in front of these.

    The largest of n . p - offset over all of them is the signed distance of a point p from the polygon: exact beside an
    edge, at most 8 % too small in front of a corner.
    """
    hull = convex_hull(corners)
    edges = list(zip(hull, (*hull[1:], hull[0]), strict=True))
    angles = [math.atan2(y1 - y0, x1 - x0) - math.pi / 2 for (x0, y0), (x1, y1) in edges]
    directions: list[float] = []
    for angle, after in pairwise((*angles, angles[0])):
        turn = (after - angle) % math.tau
        parts = math.ceil(turn / _LARGEST_TURN - 1e-9)
        directions += [angle + turn * i / parts for i in range(parts)]
    normals = [(math.cos(angle), math.sin(angle)) for angle in directions]
    return [(nx, ny, max(nx * x + ny * y for x, y in hull)) for nx, ny in normals]


def between(corners: Sequence[Corner], lower: float, upper: float) -> list[Corner]:
    """Corners of the part of a convex polygon with x from `lower` to `upper`."""
    part = list(corners)
    for sign, limit in ((1.0, upper), (-1.0, -lower)):
        kept: list[Corner] = []
        for (x0, y0), (x1, y1) in zip(part, (*part[1:], *part[:1]), strict=True):
            if sign * x0 <= limit:
                kept.append((x0, y0))
            if (sign * x0 - limit) * (sign * x1 - limit) < 0:
                part_of_edge = (limit - sign * x0) / (sign * x1 - sign * x0)
                kept.append((x0 + part_of_edge * (x1 - x0), y0 + part_of_edge * (y1 - y0)))
        part = kept
    return part


def _turns_once(corners: Sequence[Corner]) -> bool:
    """Whether the corners go round once: a star has the hull of a polygon, too."""
    edges = [(x1 - x0, y1 - y0) for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True)]
    turns = [a * d - b * c for (a, b), (c, d) in pairwise((*edges, edges[0]))]
    angles = [math.atan2(b, a) for a, b in edges]
    whole = sum((after - angle + math.pi) % math.tau - math.pi for angle, after in pairwise((*angles, angles[0])))
    return (min(turns) > 0 or max(turns) < 0) and abs(abs(whole) - math.tau) < 1e-6


def _lower_hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The hull's corners from the first to the last point, turning left (Andrew's monotone chain)."""
    hull: list[tuple[float, float]] = []
    for x, y in points:
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2:]
            # Corners that lie on a side within rounding are left out.
            if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 1e-12 * math.hypot(x1 - x0, y1 - y0) * math.hypot(
                x - x0, y - y0
            ):
                break
            hull.pop()
        hull.append((x, y))
    return hull
