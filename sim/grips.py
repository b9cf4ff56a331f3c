"""Simulated grips: they hold and let go as told."""

from __future__ import annotations

from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.sim.contacts import Contacts
from granite.sim.device import SimulatedDevice
from granite.sim.plant import Plant


class SimulatedGrips(SimulatedDevice):
    """All contacts of a testbed that obey commands."""

    def __init__(self, bed: Testbed, plant: Plant, contacts: Contacts) -> None:
        self._names, self._plant, self._contacts = bed.grips, plant, contacts
        #: those that no hold names stay as they were at the start
        self._always = contacts.commanded - frozenset(bed.grips)

    def write(self, t: float, setpoint: Array) -> Array:
        """Hold with these from time t on, let go with the others."""
        self._plant.advance(t)
        holding = (name for name, grip in zip(self._names, setpoint.tolist(), strict=True) if grip)
        self._contacts.commanded = self._always | frozenset(holding)
        return setpoint

    def stop(self, t: float) -> None:
        """Nothing: what is held is not dropped."""
