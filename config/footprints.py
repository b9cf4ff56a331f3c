"""Solid shapes of the bodies in the plane, and the pairs of them that stay apart.

A footprint is a convex polygon rounded by a radius: the hull of a body's outline, or what `safety.footprint` says, a
disc of a root and a rounded line along a link. Guard, paths and planner use discs that cover it; the plant uses its
corners.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from granite.config.base import spatial
from granite.config.convex import Corner, between, convex_hull
from granite.config.errors import InputError, one_of
from granite.config.layout import Layout
from granite.config.modules import Body, Module
from granite.config.zones import KeepOut

if TYPE_CHECKING:
    from granite.config.testbed import Testbed

#: discs that cover a long body, at most
_MOST_DISCS = 3
#: corners of a rounded end
_ROUND = 16


class Footprint(NamedTuple):
    """The solid shape of a body, in its own axes."""

    module: str
    body: str
    corners: tuple[Corner, ...]  #: of a convex polygon, counterclockwise; one: a disc; two: a link
    radius: float  #: by which they are rounded [m]
    growth: float = 0.0  #: of the tube of a measured obstacle [m/s]

    @property
    def discs(self) -> tuple[tuple[float, float, float], ...]:
        """x, y and radius of discs that cover it [m]."""
        return _cover(self.corners, self.radius)


class SolidPair(NamedTuple):
    """A body and a zone, or two bodies, which stay apart."""

    first: Footprint
    zone: KeepOut | None  #: that the first stays out of; None: that is the second body
    second: Footprint | None
    name: str  #: such as `forearm to post`


def footprints(bed: Testbed, module: Module) -> tuple[Footprint, ...]:
    """Of the bodies of a module that have one; none in space."""
    if module.dimension != "planar":
        return ()
    shapes = ((body, _shape(bed, module, body)) for body in module.in_tree_order())
    growth = obstacles(bed).get(module.name, 0.0)
    return tuple(Footprint(module.name, body.name, *shape, growth) for body, shape in shapes if shape)


def obstacles(bed: Testbed) -> dict[str, float]:
    """Modules that are measured but not controlled, with the growth of their tubes [m/s]."""
    zones = bed.safety.keep_out
    return {zone.module: zone.growth_m_s for zone in zones if zone.module and zone.growth_m_s is not None}


def solid_pairs(bed: Testbed, layout: Layout, movers: Sequence[str]) -> tuple[SolidPair, ...]:
    """What stays apart among some modules, of which the movers do not move into the others or into zones."""
    solids = {module.name: footprints(bed, module) for module in layout.modules}
    zones = [zone for zone in bed.safety.keep_out if zone.module is None]
    pairs = []
    for module in layout.modules:
        for body in _moving(module, solids) if module.name in movers else ():
            name = layout.name(module, body.body)
            pairs += [SolidPair(body, zone, None, f"{name} to {zone.name}") for zone in zones]
    for first, second in _apart(bed, layout.modules):
        if first.name not in movers and second.name not in movers:
            continue
        fixed = [module.root.name if module.base == "fixed" else None for module in (first, second)]
        for one in solids[first.name]:
            for other in solids[second.name]:
                if [one.body, other.body] != fixed:
                    names = layout.name(first, one.body), layout.name(second, other.body)
                    pairs.append(SolidPair(one, None, other, " to ".join(names)))
    return tuple(pairs)


def guarded_pairs(bed: Testbed) -> tuple[SolidPair, ...]:
    """What the guard and the checks of paths keep apart: controlled modules from zones and from known modules."""
    return solid_pairs(bed, bed.known, [module.name for module in bed.controlled])


def plant_pairs(bed: Testbed) -> tuple[SolidPair, ...]:
    """What can collide in the plant: all modules and what is solid."""
    pairs = solid_pairs(bed, bed.layout, [module.name for module in bed.modules])
    return tuple(pair for pair in pairs if pair.zone is None or pair.zone.solid)


def collision_pairs(bed: Testbed) -> tuple[SolidPair, ...]:
    """The same for the plant of a testbed, whose zones and shapes may differ from what the controllers know."""
    if not {"safety", "modules"} & bed.simulation.plant.keys():
        return plant_pairs(bed)
    from granite.config.loader import plant_of  # the loader knows this module

    return plant_pairs(plant_of(bed))


def refuse_odd_zones(bed: Testbed) -> None:
    """Raise where a zone or a footprint names nothing that exists, or there are no shapes for a zone."""
    safety = bed.safety
    bodies = {body.name for module in bed.modules for body in module.bodies}
    for name in safety.footprint:
        if name not in bodies:
            raise InputError("no such body", key=f"safety.footprint.{name}", expected=one_of(name, sorted(bodies)))
    if safety.keep_out and not bed.planar:
        raise InputError("the testbed is spatial", key="safety.keep_out", expected="none: zones are in the plane")
    solid = [module.name for module in bed.modules if footprints(bed, module)]
    for i, zone in enumerate(safety.keep_out):
        if zone.module is not None and zone.module not in solid:
            expected = f"a module with outlines or safety.footprint: {one_of(zone.module, solid)}"
            raise InputError(key=f"safety.keep_out.{i}.module", value=zone.module, expected=expected)
        measured = bed.controller.objects if bed.controller else ()
        if zone.growth_m_s is not None and zone.module not in measured:
            expected = "none, or a module of controller.objects: it is measured, but not controlled"
            raise InputError(key=f"safety.keep_out.{i}.growth_m_s", value=zone.growth_m_s, expected=expected)
    if safety.keep_out and not solid:
        expected = "outline_m of the bodies, or safety.footprint: a radius by the name of a body"
        raise InputError("no body has a shape", key="safety.keep_out", expected=expected)


def _apart(bed: Testbed, modules: Sequence[Module]) -> Iterator[tuple[Module, Module]]:
    """Modules that stay apart: where a zone is one of them, and all others between which there is no contact."""
    named = {zone.module for zone in bed.safety.keep_out}
    joined = [{contact.first.module, contact.second.module} for contact in bed.contacts]
    for i, first in enumerate(modules):
        for second in modules[i + 1 :]:
            both = {first.name, second.name}
            if both & named or (bed.safety.keep_apart and both not in joined):
                yield first, second


def _moving(module: Module, solids: dict[str, tuple[Footprint, ...]]) -> list[Footprint]:
    stands = module.base == "fixed"
    return [shape for shape in solids[module.name] if not (stands and shape.body == module.root.name)]


def _shape(bed: Testbed, module: Module, body: Body) -> tuple[tuple[Corner, ...], float] | None:
    radius = bed.safety.footprint.get(body.name)
    if radius is None:
        hull = convex_hull((x, y) for x, y, *_ in body.outline_m)
        return (tuple(hull), 0.0) if len(hull) > 2 else None
    if body is module.root:
        return ((0.0, 0.0),), radius
    ends = [spatial(joint.origin_m)[:2] for joint in module.joints if joint.parent == body.name]
    ends += [spatial(point.position_m)[:2] for point in module.points if point.body == body.name]
    ends += [(body.flexible.length_m, 0.0)] if body.flexible else []
    x, y = max(ends, key=lambda end: math.hypot(*end), default=(2 * body.com_m[0], 2 * body.com_m[1]))
    return (((0.0, 0.0), (x, y)) if math.hypot(x, y) > 0 else ((0.0, 0.0),)), radius


@lru_cache(maxsize=256)
def _cover(corners: tuple[Corner, ...], radius: float) -> tuple[tuple[float, float, float], ...]:
    """Discs about equal parts of the shape along its longest line; one where it is about as wide as long."""
    if len(corners) == 1:
        return ((*corners[0], radius),)
    pairs = [(a, b) for i, a in enumerate(corners) for b in corners[i + 1 :]]
    (x0, y0), (x1, y1) = max(pairs, key=lambda pair: round(math.dist(*pair), 9))
    if len(corners) == 4:  # the longest line of a rectangle is its diagonal
        (x0, y0), (x1, y1) = max(zip(corners, (*corners[1:], corners[0]), strict=True), key=lambda e: math.dist(*e))
    cosine, sine = (x1 - x0) / math.dist((x0, y0), (x1, y1)), (y1 - y0) / math.dist((x0, y0), (x1, y1))
    # A circumscribed polygon for the rounding.
    outer = radius / math.cos(math.pi / _ROUND)
    angles = [math.tau * i / _ROUND for i in range(_ROUND if radius else 1)]
    around = [(outer * math.cos(angle), outer * math.sin(angle)) for angle in angles]
    turned = [(cosine * x + sine * y, cosine * y - sine * x) for x, y in corners]
    hull = convex_hull((x + dx, y + dy) for x, y in turned for dx, dy in around)
    left, right = min(x for x, _ in hull), max(x for x, _ in hull)
    length, width = right - left, max(y for _, y in hull) - min(y for _, y in hull)
    count = min(_MOST_DISCS, max(1, round(length / width)))
    discs = []
    for i in range(count):
        part = between(hull, left + length * i / count, left + length * (i + 1) / count)
        xs, ys = [x for x, _ in part], [y for _, y in part]
        x, y = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
        reach = max(math.hypot(px - x, py - y) for px, py in part)
        discs.append((cosine * x - sine * y, sine * x + cosine * y, reach))
    return tuple(discs)
