"""Jets of thrusters that strike other bodies, arms of the same robot included.

A body whose mass centre is at the distance r from a nozzle, at the angle a from the axis of its jet, is pushed along
the line from the nozzle to it by

    thrust strength exp(-(a / spread)^2) / (1 + (r / length)^2)

The gas takes the reaction away: the thrust of the nozzle stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import casadi as ca
import numpy as np

from granite.config.base import spatial
from granite.config.devices.thrusters import Plume, Thrusters
from granite.config.testbed import Testbed
from granite.mrds.symbols import vector
from granite.mrds.tree import Tree


def plume_forces(
    bed: Testbed, device: Thrusters, trees: Mapping[str, Tree], thrust: ca.SX
) -> Iterator[tuple[str, ca.SX, ca.SX]]:
    """Of each body that the jets of a device may strike its module, velocity, and force in world axes [N]."""
    plume, carrier = device.simulated.plume, device.pushed(bed)
    if plume is None or device.simulated.ideal:
        return
    root = trees[carrier.name]
    for module in bed.modules:
        for body in module.bodies:
            if (module.name, body.name) == (carrier.name, carrier.root.name):
                continue
            struck = trees[module.name].point(body.name, body.com_m)
            total = ca.SX.zeros(3)
            for i, unit in enumerate(device.units):
                jet = -(root.root.R_WB @ vector(spatial(unit.direction))) / np.linalg.norm(unit.direction)
                nozzle = root.point_position(carrier.root.name, unit.position_m)
                total += thrust[i] * _push(plume, struck.position - nozzle, jet)
            yield module.name, struck.velocity, total


def _push(plume: Plume, away: ca.SX, jet: ca.SX) -> ca.SX:
    """Force on a body by a jet of 1 N; `away` is from the nozzle to it."""
    distance = ca.sqrt(ca.dot(away, away)) + np.finfo(float).tiny
    across = ca.cross(jet, away)
    angle = ca.atan2(ca.sqrt(ca.dot(across, across)), ca.dot(jet, away))
    part = plume.strength * ca.exp(-((angle / plume.spread_rad) ** 2)) / (1 + (distance / plume.length_m) ** 2)
    return part * away / distance
