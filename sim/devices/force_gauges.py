"""Simulated force gauges: the true wrench of a contact, in the axes of the body of its first side."""

from __future__ import annotations

import casadi as ca

from granite.config.contacts import Side
from granite.config.devices.force_gauges import AXES, ForceGauges
from granite.config.testbed import Testbed
from granite.mrds.tree import Tree
from granite.sim.devices.gauge import SimulatedGauge


class SimulatedForceGauges(SimulatedGauge[ForceGauges]):
    """Forces [N] and moments [N m] by the first side of each contact on its second; zero while it is open."""

    def true_reading(self, bed: Testbed) -> tuple[dict[str, ca.SX], ca.SX]:
        """(q, wrenches of all contacts in world axes) -> the components of each gauge."""
        trees = {module.name: Tree(module) for module in bed.modules}
        q, axes = ca.vertcat(*(tree.q for tree in trees.values())), AXES["planar" if bed.planar else "spatial"]
        wrenches, readings = ca.SX.sym("wrench", len(axes), len(bed.contacts)), []
        for unit in self._gauge.units:
            contact = self._gauge.contact_of(bed, unit)
            wrench, R = wrenches[:, bed.contacts.index(contact)], side_rotation(bed, trees, contact.first)
            if bed.planar:
                turned = ca.vertcat(R[:2, :2].T @ wrench[:2], wrench[2])
            else:
                turned = ca.vertcat(R.T @ wrench[:3], R.T @ wrench[3:])
            readings += [turned[axes.index(axis)] for axis in self._gauge.measured_axes(bed, unit)]
        return {"q": q, "wrench": ca.vec(wrenches)}, ca.vertcat(*readings)


def side_rotation(bed: Testbed, trees: dict[str, Tree], side: Side) -> ca.SX:
    """From the body of a side to the world; of a side on the ground, none."""
    if side.grounded:
        return ca.SX.eye(3)
    point = next(point for point in bed.module(side.module).points if point.name == side.point)
    return trees[side.module].point(point.body, point.position_m).rotation
