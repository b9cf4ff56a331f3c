"""Simulated strain gauges: the true strain of a fibre of a flexible link."""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.devices.strain_gauges import StrainGauges
from granite.config.testbed import Testbed
from granite.mrds.flexible.curvature import strain
from granite.mrds.tree import Tree
from granite.sim.devices.gauge import SimulatedGauge


class SimulatedStrainGauges(SimulatedGauge[StrainGauges]):
    """Strain -d w''(x) of each gauge."""

    def true_reading(self, bed: Testbed) -> tuple[dict[str, ca.SX], ca.SX]:
        """(q) -> strain of each gauge."""
        trees, gauges = [Tree(module) for module in bed.modules], self._gauge.units
        q = ca.vertcat(*(tree.q for tree in trees))
        # Modes are last in the coordinates and in the velocities of a module.
        last = ca.vertcat(*(tree.q[tree.q.numel() - tree.u.numel() :] for tree in trees))
        rows = [strain(bed.layout, g.link, g.axis, g.position_m, g.distance_m) for g in gauges]
        return {"q": q}, ca.densify(ca.DM(np.array(rows)) @ last)
