"""The parts of one module as a plot shows them, by the numbers of their places."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from granite.config.base import spatial
from granite.config.devices import Thruster
from granite.config.modules import Body, Module
from granite.rt.plots.places import Places

#: a bent beam is drawn through this many sections
_SECTIONS = 17
#: roundness of an object's corners, as a part of its size
_ROUNDING = 0.15


class Silhouette:
    """A base, which is a disc, an object with corners, a stand on the ground or nothing but its beam; and its arms."""

    def __init__(self, module: Module, places: Places, thrusters: Sequence[Thruster] = ()) -> None:
        self._module, self._places, root = module, places, module.root
        self.name = module.name
        self.root = places.on(module.name, root.name)
        #: where arms stand on the ground, if they do
        self.stands: list[int] = []
        #: corners of the base, and how far it goes beyond them; a disc has one
        self.corners: list[int] = []
        self.radius = 0.0
        if module.base == "fixed":
            mounted = [joint.origin_m for joint in module.joints if joint.parent == root.name]
            self.stands = [places.on(module.name, root.name, origin) for origin in mounted or [(0.0, 0.0)]]
        elif root.flexible is None:
            self._shape_base(root, thrusters)
        #: every flexible link, from section to section
        self.beams: list[list[int]] = []
        #: both ends of every rigid part of an arm, from joint to joint or to a named point
        self.links: list[tuple[int, int]] = []
        end = self.root
        for body in module.in_tree_order():
            if body.flexible:
                self.beams.append(self._beam(body, body.flexible.length_m))
                end = self.beams[-1][-1]
            for link in self._links(body):
                self.links.append(link)
                end = link[1]
        #: each thruster's nozzle, and a place a metre down its jet
        self.jets: list[tuple[int, int]] = []
        for unit in thrusters:
            nozzle, push = np.array([spatial(unit.position_m), spatial(unit.direction)])
            down = nozzle - push / np.linalg.norm(push)
            self.jets.append((places.on(module.name, root.name, nozzle), places.on(module.name, root.name, down)))
        #: the place whose path is drawn: of what has no base that floats, where its last part ends
        self.followed = self.root if self.corners else end

    def _shape_base(self, root: Body, thrusters: Sequence[Thruster]) -> None:
        """A disc of the root's mass and inertia about z, or as large as what is mounted on it.

        What carries nothing is an object to be handled: its points are its corners.
        """
        module, held = self._module, [p.position_m for p in self._module.points if p.body == root.name]
        if not module.joints and not thrusters and len(set(held)) > 1:
            self.corners = [self._places.on(module.name, root.name, place) for place in held]
            self.radius = _ROUNDING * float(np.ptp([spatial(place) for place in held], axis=0).max())
            return
        self.corners = [self.root]
        disc = math.sqrt(2 * float(np.ravel(root.inertia_kg_m2)[:3][-1]) / root.mass_kg)
        mounted = [j.origin_m for j in module.joints if j.parent == root.name] + [u.position_m for u in thrusters]
        self.radius = max([disc, *(math.hypot(*place) for place in mounted or held)])

    def _beam(self, body: Body, length: float) -> list[int]:
        along = np.linspace(0.0, length, _SECTIONS)
        return [self._places.on(self._module.name, body.name, (x, 0.0)) for x in along]

    def _links(self, body: Body) -> Iterator[tuple[int, int]]:
        """Of a flexible link, what stands out from its axis."""
        module, on = self._module, self._places.on
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
