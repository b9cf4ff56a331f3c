"""The drawn parts of one module, by the numbers of their points: its base, arms and marks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from granite.config.base import spatial
from granite.config.devices.thrusters import Thruster
from granite.config.modules import Body, Module
from granite.views.plots.body_points import BodyPoints
from granite.views.plots.shapes import edge_along_x, rounded_hull

#: roundness of an object's corners, as a part of its size
_ROUNDING = 0.15
#: where the heading mark starts and ends, and half its width, as parts of the way to the edge
_TAIL, _TIP, _WIDTH = 0.45, 1.0, 0.16
#: heading mark of an object: start, then length and half width in radii of the corners
_OBJECT_TAIL, _OBJECT_LENGTH, _OBJECT_WIDTH = 0.3, 1.0, 0.4
#: a bent beam is drawn through this many sections
_SECTIONS = 17


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


class Silhouette:
    """A base, which floats, stands on the ground or is a beam only; and its arms."""

    def __init__(self, module: Module, body_points: BodyPoints, thrusters: Sequence[Thruster] = ()) -> None:
        self._module = module
        self._body_points = body_points
        root = module.root
        self.name = module.name
        self.root = body_points.on(module.name, root.name)
        #: points at which arms are fixed to the ground, if any, and the outline of their stand, if given
        self.stands: list[int] = []
        self.stand_outline: list[int] = []
        self.base: Base | None = None
        if module.base == "fixed":
            mounted = [joint.origin_m for joint in module.joints if joint.parent == root.name]
            self.stands = [body_points.on(module.name, root.name, origin) for origin in mounted or [(0.0, 0.0)]]
            self.stand_outline = self._outline(root)
        elif root.flexible is None:
            self.base = shape_of_base(module, body_points, thrusters)
        #: every flexible link, from section to section
        self.beams: list[list[int]] = []
        #: both ends of every rigid part of an arm, from joint to joint or to a named point
        self.links: list[tuple[int, int]] = []
        #: corners of every part of an arm whose outline is given
        self.outlines: list[list[int]] = []
        self._add_arms()
        #: each thruster's nozzle, and a point 1 m along its jet; whether it has failed
        self.jets: list[tuple[int, int]] = []
        self.failed = [unit.failed for unit in thrusters]
        for unit in thrusters:
            nozzle, push = np.array([spatial(unit.position_m), spatial(unit.direction)])
            down = nozzle - push / np.linalg.norm(push)
            self.jets.append(
                (body_points.on(module.name, root.name, nozzle), body_points.on(module.name, root.name, down))
            )

    @property
    def followed(self) -> int:
        """The point whose path is drawn: without a floating base, the end of the last part."""
        return self.root if self.base else self._end

    @property
    def tips(self) -> list[int]:
        """The end effectors: of every body at the end of an arm the last named point, where it has one."""
        carriers = {joint.parent for joint in self._module.joints}
        tips = []
        for body in self._module.in_tree_order()[1:]:
            points = [p.position_m for p in self._module.points if p.body == body.name]
            if body.name not in carriers and points:
                tips.append(self._body_points.on(self._module.name, body.name, points[-1]))
        return [number for number in tips if number != self.followed]

    @property
    def pins(self) -> list[int]:
        """The joints at which rigid parts of an arm turn."""
        return list(dict.fromkeys((*(start for start, _ in self.links), *self._outlined_joints)))

    @property
    def heading(self) -> list[int]:
        """Corners of the mark on a base along x; none where an arm shows the heading."""
        has_arm = bool(self.outlines or self.beams) or any(start != end for start, end in self.links)
        return self.base.heading if self.base and not has_arm else []

    @property
    def drawn(self) -> list[int]:
        """All points that are drawn."""
        base = [*self.base.corners, *self.base.struts] if self.base else self.stands
        ends = [end for part in (*self.links, *self.beams, *self.outlines) for end in part]
        return [self.root, *base, *self.stand_outline, *ends, *(nozzle for nozzle, _ in self.jets)]

    def _add_arms(self) -> None:
        module, self._end = self._module, self.root
        self._outlined_joints: list[int] = []
        for body in module.in_tree_order():
            if body.flexible:
                self.beams.append(self._beam(body, body.flexible.length_m))
                self._end = self.beams[-1][-1]
            outline = self._outline(body) if body is not module.root else []
            if outline:
                self.outlines.append(outline)
                self._outlined_joints.append(self._body_points.on(module.name, body.name))
            for link in self._links(body):
                self.links += [] if outline else [link]
                self._end = link[1]

    def _outline(self, body: Body) -> list[int]:
        return [self._body_points.on(self._module.name, body.name, corner) for corner in body.outline_m]

    def _beam(self, body: Body, length: float) -> list[int]:
        along = np.linspace(0.0, length, _SECTIONS)
        return [self._body_points.on(self._module.name, body.name, (x, 0.0)) for x in along]

    def _links(self, body: Body) -> Iterator[tuple[int, int]]:
        """Rigid parts of a body; of a flexible link, those off its axis."""
        module, on = self._module, self._body_points.on
        ends = [joint.origin_m for joint in module.joints if joint.parent == body.name]
        ends += [point.position_m for point in module.points if point.body == body.name]
        if body.flexible:
            length = body.flexible.length_m
            for x, y, z in map(spatial, ends):
                along = min(max(x, 0.0), length)
                if (x, y, z) != (along, 0.0, 0.0):
                    yield on(module.name, body.name, (along, 0.0)), on(module.name, body.name, (x, y, z))
        elif body is not module.root:
            start = on(module.name, body.name)
            for end in ends or [body.com_m]:
                yield start, on(module.name, body.name, end)
