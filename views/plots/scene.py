"""Parts of a testbed that are drawn: its modules, and both sides of its contacts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from granite.config.contacts import Contact, Side
from granite.config.devices.thrusters import Thruster, Thrusters
from granite.config.modules import Module, Point
from granite.config.testbed import Testbed
from granite.mrds.contacts import KINDS
from granite.views.plots.body_points import BodyPoints
from granite.views.plots.silhouette import Silhouette


class Scene:
    """The modules whose motion is known, and the contacts between them."""

    def __init__(self, bed: Testbed, modules: Sequence[Module]) -> None:
        self._modules = {module.name: module for module in modules}
        self.body_points = BodyPoints(modules)
        on_module: dict[str, tuple[Thruster, ...]] = {}
        #: numbers of the thrusters on each module, among all of the testbed
        self.thrusters: dict[str, list[int]] = {module.name: [] for module in modules}
        first = 0
        for device in bed.devices_of(Thrusters).values():
            name = device.pushed(bed).name
            on_module[name] = (*on_module.get(name, ()), *device.units)
            self.thrusters.setdefault(name, []).extend(range(first, first + len(device.units)))
            first += len(device.units)
        self.silhouettes = [Silhouette(m, self.body_points, on_module.get(m.name, ())) for m in modules]
        #: the module whose path is emphasised: the robot, or the last module
        names = [module.name for module in modules]
        self.main = self.silhouettes[names.index(bed.controlled[0].name) if bed.controlled else -1]
        #: points of the first and second side of each contact, by its number in the testbed
        self.contacts: dict[int, tuple[int, int]] = {
            i: (self._side(contact.first), self._side(contact.second))
            for i, contact in enumerate(bed.contacts)
            if self._is_seen(contact)
        }
        #: of those that touch a surface in the plane, a point on it 1 m from the first side
        self.surfaces: dict[int, int] = {
            i: self._along_surface(bed.contacts[i].first)
            for i in self.contacts
            if bed.planar and (kind := KINDS.get(bed.contacts[i].kind)) and kind.friction_modes
        }

    @property
    def drawn(self) -> list[int]:
        """All points that are drawn."""
        return [*(i for s in self.silhouettes for i in s.drawn), *(i for pair in self.contacts.values() for i in pair)]

    def _is_seen(self, contact: Contact) -> bool:
        return all(side.grounded or side.module in self._modules for side in (contact.first, contact.second))

    def _side(self, side: Side) -> int:
        if side.grounded:
            return self.body_points.on_ground(side.position_m)
        point = self._point(side)
        return self.body_points.on(side.module, point.body, point.position_m)

    def _along_surface(self, side: Side) -> int:
        """A surface is the plane across the x axis of its side: in the page a line along the y axis."""
        fixed: Side | Point = side if side.grounded else self._point(side)
        x, y, *_ = fixed.position_m
        yaw = fixed.rotation_rad[2]
        position = x - math.sin(yaw), y + math.cos(yaw)
        if isinstance(fixed, Side):
            return self.body_points.on_ground(position)
        return self.body_points.on(side.module, fixed.body, position)

    def _point(self, side: Side) -> Point:
        return next(p for p in self._modules[side.module].points if p.name == side.point)
