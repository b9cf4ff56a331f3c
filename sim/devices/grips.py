"""Simulated grips: they close and open contacts as commanded."""

from __future__ import annotations

from collections.abc import Iterable
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
        self._names, self._stay_open = list(plant.bed.grips), np.zeros(len(plant.bed.grips), dtype=bool)

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
        if not self._stay_open.any():
            self._contacts.grip(setpoint)
            return self._report(t)
        self._contacts.grip(np.where(self._stay_open, 0.0, setpoint))
        frame = self._report(t)
        return frame._replace(values=np.where(self._stay_open, setpoint, frame.values))

    def set_faults(self, faults: Iterable[tuple[str, str, float | None]]) -> None:
        """From the next set point on these stay open; their frames report what was commanded."""
        stuck = {unit for _, unit, _ in faults}
        self._stay_open = np.array([name in stuck for name in self._names])

    def stop(self, t: float) -> Frame:
        """Nothing: a held object is not dropped."""
        return self._report(t)

    def _report(self, t: float) -> Frame:
        self._number += 1
        return Frame(t, self._number, _OK, self._contacts.gripped(self._plant.q))
