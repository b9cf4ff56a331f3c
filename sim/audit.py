"""The books of an audited run: energy, work, momentum, and how well the contacts hold."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.energy import Energy
from granite.sim.held import Felt
from granite.sim.plant import Plant


class Audit:
    """Looks at the plant; what it sees stands in the order of `config.audit`."""

    def __init__(self, bed: Testbed, plant: Plant) -> None:
        self._energy, self._plant = Energy(bed.modules), plant
        self._energy.prepare()

    def look(self, felt: Felt) -> Array:
        """Kinetic energy, energy, work, momentum, angular momentum, gap, slip and independence now."""
        balance = self._energy.balance(self._plant.q, self._plant.u)
        return np.array(
            (
                balance.kinetic,
                balance.energy,
                self._plant.work - (self._plant.contacts.lost if self._plant.contacts else 0.0),
                *balance.momentum,
                *balance.angular_momentum,
                felt.gap,
                felt.slip,
                felt.independence,
            )
        )
