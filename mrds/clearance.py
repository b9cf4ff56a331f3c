"""Distances between the footprints of bodies, zones and each other, as expressions in the coordinates.

Bodies are discs that cover them (`config.footprints`). The distance of a disc at p with radius r is

    |p - c| - R - r                           from a disc,
    max over k of (n_k . p - d_k) - r         from a convex polygon, whose half-planes are n_k . x <= d_k,

negative inside. Along a motion, every disc goes straight from one pose to the other, relative to the other body where
that moves too. The disc of a measured obstacle grows with the time since its measurement, by c on a way w from p: the
least of |p + s w| - c s is at the foot s0 of p on w, and c m / (|w| sqrt(w^2 - c^2)) later, for a distance m of w.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import casadi as ca

from granite.config.convex import half_planes
from granite.config.footprints import Footprint, SolidPair
from granite.config.layout import Layout
from granite.config.records import NOTHING, Array
from granite.config.zones import KeepOut
from granite.kernels.compilation import compile_once
from granite.kernels.kernel import Buffer
from granite.mrds.tree import Tree

#: [m^2] added to a squared length, so that that of a point is not divided by
_TINY = 1e-18


class TimedPose(NamedTuple):
    """A pose to come."""

    q: ca.SX
    t: ca.SX | float = 0.0  #: from now on [s]


class Clearances:
    """Distances of pairs that stay apart [m], one for each pair.

    Parameters
    ----------
    pairs
        Bodies and zones, or two bodies.
    layout
        Whose coordinates q the distances are a function of; it has the modules of all pairs.

    Examples
    --------
    >>> clearances = Clearances(guarded_pairs(bed), bed.known)
    >>> kernel = ca.Function("distances", [q], [clearances.distances(q)])
    """

    def __init__(self, pairs: Sequence[SolidPair], layout: Layout) -> None:
        self.pairs = tuple(pairs)
        self.names = [pair.name for pair in pairs]
        bodies = dict.fromkeys(body for pair in pairs for body in (pair.first, pair.second) if body)
        trees = {module.name: Tree(module) for module in layout.modules}
        q = ca.vertcat(*(tree.q for tree in trees.values()))
        centres = [
            trees[body.module].point_position(body.body, (x, y))[:2] for body in bodies for x, y, _ in body.discs
        ]
        self._centres = ca.Function("centres", [q], [ca.horzcat(ca.SX(2, 0), *centres)])
        #: of each body, the columns of its centres
        self._columns: dict[Footprint, range] = {}
        for body in bodies:
            first = sum(len(of) for of in self._columns.values())
            self._columns[body] = range(first, first + len(body.discs))

    def distances(self, q: ca.SX) -> ca.SX:
        """At a pose."""
        return self.along(TimedPose(q))

    def along(self, *poses: TimedPose) -> ca.SX:
        """The least on the way from one pose to the next, and so on."""
        centres = [(self._centres(pose.q), pose.t) for pose in poses]
        distances = [_least([_distance(way) for way in self._ways(pair, centres)]) for pair in self.pairs]
        return ca.vertcat(ca.SX(0, 1), *distances)

    def are_kept(self, least: float, *poses: TimedPose) -> ca.SX:
        """Whether `along` is at least that for all pairs, up to rounding: by comparisons alone, which are fast."""
        centres, kept = [(self._centres(pose.q), pose.t) for pose in poses], ca.SX(1)
        for pair in self.pairs:
            for way in self._ways(pair, centres):
                kept = ca.logic_and(kept, _is_beyond(way._replace(radius=way.radius + least)))
        return kept

    def _ways(self, pair: SolidPair, centres: Sequence[tuple[ca.SX, ca.SX | float]]) -> Iterator[_Way]:
        """Of each disc, or each two, its ways relative to the centre of a disc, or to the table for a polygon."""
        growth = sum(body.growth for body in (pair.first, pair.second) if body)
        for (before, t), (after, later) in pairwise(centres if len(centres) > 1 else [*centres, *centres]):
            grown, grows = (growth * t, growth * (later - t)) if growth else (0.0, None)
            for column, (_, _, radius) in zip(self._columns[pair.first], pair.first.discs, strict=True):
                p, way = before[:, column], after[:, column] - before[:, column]
                if pair.second is not None:
                    for other, (_, _, its_radius) in zip(self._columns[pair.second], pair.second.discs, strict=True):
                        relative = way - (after[:, other] - before[:, other])
                        yield _Way(p - before[:, other], relative, radius + its_radius + grown, None, grows)
                elif pair.zone is not None and pair.zone.disc is not None:
                    disc = pair.zone.disc
                    yield _Way(p - ca.DM(list(disc.position_m)), way, radius + disc.radius_m)
                else:
                    yield _Way(p, way, radius, pair.zone)


def compiled_distances(pairs: Sequence[SolidPair], layout: Layout) -> Callable[[tuple[Buffer, ...]], Array]:
    """(q, q later) -> the least distances on the way, as a compiled function; nothing of no pairs."""
    if not pairs:
        return lambda _: NOTHING
    content = [pairs, *(module.model_dump_json() for module in layout.modules)]

    def write() -> list[ca.Function]:
        clearances = Clearances(pairs, layout)
        q, end = (ca.SX.sym(name, len(layout.positions)) for name in ("q", "end"))
        return [ca.Function("distances", [q, end], [clearances.along(TimedPose(q), TimedPose(end))])]

    return compile_once("clearance", repr(content), write)["distances"].run


class _Way(NamedTuple):
    """The straight way of the centre of a disc."""

    p: ca.SX
    way: ca.SX
    radius: ca.SX | float
    polygon: KeepOut | None = None  #: None: the other is at zero
    growth: ca.SX | float | None = None  #: of the radius on the way [m]; None: it has none


def _distance(disc: _Way) -> ca.SX:
    """The least distance on the way."""
    p, way, radius, polygon, growth = disc
    if polygon is not None:
        beyond = [_products(x, y, p, way) - offset for x, y, offset in half_planes(polygon.polygon_m)]
        return _largest(beyond) - radius
    if not way.is_zero():
        squared = ca.dot(way, way) + _TINY
        part = -ca.dot(p, way) / squared
        if growth is not None:
            faster = squared - growth**2
            aside = ca.fabs(p[0] * way[1] - p[1] * way[0])
            later = growth * aside / (squared * ca.sqrt(ca.fmax(faster, _TINY)))
            part = ca.if_else(faster > 0, part + later, 1.0)
        part = ca.fmin(ca.fmax(part, 0.0), 1.0)
        p, radius = p + part * way, radius + (part * growth if growth is not None else 0.0)
    return ca.sqrt(ca.dot(p, p)) - radius


def _is_beyond(disc: _Way) -> ca.SX:
    """Whether the whole way is at least `radius` away."""
    p, way, radius, polygon, growth = disc
    if growth is not None:
        return _distance(disc) >= 0
    if polygon is not None:
        beyond = ca.SX(0)
        for x, y, offset in half_planes(polygon.polygon_m):
            beyond = ca.logic_or(beyond, _products(x, y, p, way) >= offset + radius)
        return beyond
    end, squared = p + way, radius * radius
    past, length = -ca.dot(p, way), ca.dot(way, way)
    across = p[0] * way[1] - p[1] * way[0]
    aside = ca.logic_or(ca.logic_or(past <= 0, past >= length), across * across >= squared * length)
    return ca.logic_and(ca.logic_and(ca.dot(p, p) >= squared, ca.dot(end, end) >= squared), aside)


def _products(x: float, y: float, p: ca.SX, way: ca.SX) -> ca.SX:
    """The least product of a normal with the points of a way: that with its middle, less half of that with it."""
    half = way / 2
    return x * (p[0] + half[0]) + y * (p[1] + half[1]) - ca.fabs(x * half[0] + y * half[1])


def _least(distances: list[ca.SX]) -> ca.SX:
    return -_largest([-distance for distance in distances])


def _largest(values: list[ca.SX]) -> ca.SX:
    largest = values[0]
    for value in values[1:]:
        largest = ca.fmax(largest, value)
    return largest
