"""Energy, work, momentum and constraint errors of a run."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.energy import Energy
from granite.sim.plant.constrained_plant import ContactLoads
from granite.sim.plant.plant import Plant


class Audit:
    """Energy, work, momentum and constraint errors of the plant, in the order of `config.audit`."""

    def __init__(self, bed: Testbed, plant: Plant) -> None:
        self._energy, self._plant = Energy(bed.modules), plant
        self._energy.prepare()

    def values(self, loads: ContactLoads) -> Array:
        """Kinetic energy, energy, work, momentum, angular momentum, gap, slip and independence now."""
        balance = self._energy.balance(self._plant.q, self._plant.u)
        return np.array(
            (
                balance.kinetic,
                balance.energy,
                self._plant.work - (self._plant.contacts.lost if self._plant.contacts else 0.0),
                *balance.momentum,
                *balance.angular_momentum,
                loads.gap,
                loads.slip,
                loads.independence,
            )
        )
