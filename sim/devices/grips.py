"""Simulated grips: they close and open contacts as commanded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from granite.config.devices.grips import Grips
from granite.config.records import NOTHING, Array, Frame, Status
from granite.kernels.compiled_form import CompiledForm
from granite.sim.devices.device import SimulatedActuator
from granite.sim.plant.contacts import Contacts
from granite.sim.plant.plant import Plant

_OK = int(Status.OK)


class SimulatedGrips(SimulatedActuator):
    """All contacts of a testbed that are switched by command."""

    def __init__(self, grips: Grips, plant: Plant, rng: np.random.Generator) -> None:
        assert plant.contacts is not None
        self._plant, self._contacts = plant, plant.contacts
        self._number = 0

    @staticmethod
    def compiled_form(contacts: Contacts | None) -> CompiledForm:
        """The same in C, for the contacts of a plant at its start."""
        commanded = contacts.gripped(NOTHING) if contacts else NOTHING
        return CompiledForm(
            (Path(__file__).with_suffix(".c"),),
            {"GRIPS": len(commanded)},
            memory={"grips_commanded": commanded, "grips_holding": commanded.copy()},
        )

    def write(self, t: float, setpoint: Array) -> Frame:
        """Close these from time t on, open the others. The frame reports a grip that is out of reach as open."""
        self._plant.advance(t)
        self._contacts.grip(setpoint)
        return self._report(t)

    def stop(self, t: float) -> Frame:
        """Nothing: a held object is not dropped."""
        return self._report(t)

    def _report(self, t: float) -> Frame:
        self._number += 1
        return Frame(t, self._number, _OK, self._contacts.gripped(self._plant.q))
