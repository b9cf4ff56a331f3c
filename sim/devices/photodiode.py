"""A simulated photodiode: lit, unless the plant is a pendulum whose flag is in front of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite.config.devices.photodiode import Photodiode
from granite.config.records import Frame, Status
from granite.sim.devices.device import SimulatedSensor

_OK = int(Status.OK)


class SimulatedPhotodiode(SimulatedSensor):
    """The light with noise, at every tick."""

    def __init__(self, photodiode: Photodiode, plant: Any, rng: np.random.Generator) -> None:
        self._plant, self._noise, self._rng = plant, photodiode.noise, rng
        self._number = 0

    def read(self, t: float) -> Frame:
        """The light now."""
        self._plant.advance(t)
        light = self._plant.light(t) if hasattr(self._plant, "light") else 1.0
        self._number += 1
        return Frame(t, self._number, _OK, np.array([light + self._noise * self._rng.standard_normal()]))
