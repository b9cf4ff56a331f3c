"""Simulated grips: they close and open contacts as commanded."""

from __future__ import annotations

import numpy as np

from granite.config.devices.grips import Grips
from granite.config.records import Array, Frame, Status
from granite.sim.device import SimulatedDevice
from granite.sim.plant import Plant

_OK = int(Status.OK)


class SimulatedGrips(SimulatedDevice):
    """All contacts of a testbed that are switched by command."""

    def __init__(self, grips: Grips, plant: Plant, rng: np.random.Generator) -> None:
        assert plant.contacts is not None
        self._names, self._plant, self._contacts = plant.bed.grips, plant, plant.contacts
        #: those that are in no hold keep their status of the start
        self._always = self._contacts.commanded - frozenset(self._names)
        self._number = 0

    def write(self, t: float, setpoint: Array) -> Frame:
        """Close these from time t on, open the others. The frame reports a grip that is out of reach as open."""
        self._plant.advance(t)
        holding = (name for name, grip in zip(self._names, setpoint.tolist(), strict=True) if grip)
        self._contacts.commanded = self._always | frozenset(holding)
        return self._report(t)

    def stop(self, t: float) -> Frame:
        """Nothing: a held object is not dropped."""
        return self._report(t)

    def _report(self, t: float) -> Frame:
        self._number += 1
        holding = self._contacts.holding(self._plant.q)
        return Frame(t, self._number, _OK, np.array([float(name in holding) for name in self._names]))
