"""Distances between the footprints of bodies, zones and each other, as expressions in the coordinates.

Bodies are discs that cover them (`config.footprints`). The distance of a disc at p with radius r is

    |p - c| - R - r                           from a disc,
    max over k of (n_k . p - d_k) - r         from a convex polygon, whose half-planes are n_k . x <= d_k,

negative inside. Along a motion, every disc goes straight from one pose to the other, relative to the other body where
that moves too. The disc of a measured obstacle grows with the time since its measurement, by c on a way w from p: the
least of |p + s w| - c s is at the foot s0 of p on w, and c m / (|w| sqrt(w^2 - c^2)) later, for a distance m of w.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.convex import CORNER_FACTOR, half_planes
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


#: centres of all discs in columns, and the time from now on [s]
_Centres = tuple[ca.SX, ca.SX | float]


class _Box(NamedTuple):
    """With sides along x and y."""

    middle: ca.SX | ca.DM
    half: ca.SX | ca.DM  #: of its sides


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
        self._discs = len(centres)
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
        return ca.vertcat(ca.SX(0, 1), *(self._along(pair, centres) for pair in self.pairs))

    def shortfalls(self, least: Sequence[float], ways: Sequence[Sequence[int]], instants: int) -> ca.Function:
        """(centres, times) -> what each pair lacks of the least distances [m]: at the first instant, and at most.

        There is a column for each way; zero where nothing is lacking, elsewhere exact. It is computed only where it may
        not be zero: on a way, a body stays in a box, and most boxes are far away from most zones.

        The centres are those at the poses of an instant side by side, then those of the next instant; the times have a
        column for each instant.

        Parameters
        ----------
        least
            Distance to keep on each way [m].
        ways
            The poses that each way leads through, by their number; all begin at the first one.
        instants
            How many there are.
        """
        count = 1 + max(max(way) for way in ways)
        instant = ca.SX.sym("centres", 2, count * self._discs), ca.SX.sym("t", count)
        given = ca.MX.sym("centres", 2, instants * count * self._discs), ca.MX.sym("t", count, instants)
        poses = list(zip(ca.horzsplit(instant[0], self._discs), ca.vertsplit(instant[1]), strict=True))
        along = [[poses[i] for i in way] for way in ways]
        boxes = {body: self._box(body, along) for body in self._columns}
        near = ca.vertcat(*(_is_near(pair, boxes, max(least)) for pair in self.pairs))
        are_near = ca.Function("near", [*instant], [near], {"cse": True}).map(instants)(*given)
        is_ever_near = ca.vertsplit(reduce(ca.logic_or, ca.horzsplit(are_near)))
        when, nothing = ca.MX.sym("when", 1, instants), ca.DM.zeros(1, len(ways))
        far, never_near = ca.Function("far", [*instant], [nothing]), ca.Function("far", [when, *given], [nothing] * 2)
        rows = []
        for pair, is_near, ever in zip(self.pairs, ca.horzsplit(are_near.T), is_ever_near, strict=True):
            lacks = [most - self._along(pair, way) for most, way in zip(least, along, strict=True)]
            # A distance from nowhere is not kept.
            lacking = ca.horzcat(*(ca.if_else(lack <= 0, 0, ca.if_else(lack > 0, lack, ca.inf)) for lack in lacks))
            exact = ca.Function("exact", [*instant], [lacking], {"cse": True})
            each = ca.Function.if_else("where_near", exact, far).map(instants)(when, *given)
            lacking_at = ca.horzsplit(each, len(ways))
            when_near = ca.Function("when_near", [when, *given], [lacking_at[0], reduce(ca.fmax, lacking_at)])
            rows.append(ca.Function.if_else("of_pair", when_near, never_near)(ever, is_near, *given))
        return ca.Function("shortfalls", [*given], [ca.vertcat(*column) for column in zip(*rows, strict=True)])

    def centres(self, q: ca.SX) -> ca.SX:
        """Of all discs at a pose, side by side."""
        return self._centres(q)

    def _along(self, pair: SolidPair, centres: Sequence[_Centres]) -> ca.SX:
        return _least([_distance(way) for way in self._ways(pair, centres)])

    def _box(self, body: Footprint, ways: Sequence[Sequence[_Centres]]) -> _Box:
        """What the discs of a body do not leave on some ways from one pose."""
        (first, _), columns, reaches = ways[0][0], self._columns[body], []
        middle = ca.sum2(first[:, columns]) / len(columns)
        for column, (_, _, radius) in zip(columns, body.discs, strict=True):
            moves = ([ca.fabs(b[:, column] - a[:, column]) for (a, _), (b, _) in pairwise(way)] for way in ways)
            farthest = reduce(ca.fmax, (sum(move[1:], move[0]) for move in moves))
            reaches.append(ca.fabs(first[:, column] - middle) + radius + farthest)
        grown = body.growth * reduce(ca.fmax, (way[-1][1] for way in ways)) if body.growth else 0.0
        return _Box(middle, reduce(ca.fmax, reaches) + grown)

    def _ways(self, pair: SolidPair, centres: Sequence[_Centres]) -> Iterator[_Way]:
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


def _is_near(pair: SolidPair, boxes: Mapping[Footprint, _Box], least: float) -> ca.SX:
    """Whether the distance of a pair may be less than that."""
    (middle, half), zone = boxes[pair.first], pair.zone
    if pair.second is not None:
        other = boxes[pair.second]
    elif zone is not None and zone.disc is not None:
        (x, y), radius = zone.disc.position_m, zone.disc.radius_m
        other = _Box(ca.DM([x, y]), ca.DM([radius, radius]))
    elif zone is not None:
        corners = np.array(zone.polygon_m)
        lower, upper = corners.min(axis=0), corners.max(axis=0)
        other = _Box(ca.DM((lower + upper) / 2), ca.DM((upper - lower) / 2))
        # In front of a corner, the half-planes of a polygon say less than the distance.
        least += (CORNER_FACTOR - 1) * (least + max(radius for _, _, radius in pair.first.discs))
    apart = ca.fabs(middle - other.middle) > half + other.half + least
    return ca.logic_not(ca.logic_or(apart[0], apart[1]))


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
