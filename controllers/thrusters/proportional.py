"""Modulation of ideal, throttled thrusters: the opening is the wanted part of the thrust."""

from __future__ import annotations

from typing import ClassVar

import casadi as ca
import numpy as np

from granite.config.parts import PartTable
from granite.config.records import Array
from granite.controllers.thrusters.contract import ThrusterSet


class Proportional:
    """opening = wanted / available."""

    throttles: ClassVar[bool] = True
    makes_pulses: ClassVar[bool] = False

    def __init__(self, options: PartTable, thrusters: ThrusterSet) -> None:
        available = thrusters.available
        self._per_newton = np.divide(1.0, available, out=np.zeros(len(available)), where=available > 0.0)

    def modulate(self, t: float, wanted_thrust: Array) -> Array:
        """The opening of each valve, 0 to 1."""
        return np.minimum(wanted_thrust * self._per_newton, 1.0)

    @property
    def memory(self) -> Array:
        """It has none."""
        return np.zeros(0)

    def expression(self, memory: ca.SX, t: ca.SX, wanted_thrust: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The same in symbols."""
        return memory, ca.fmin(wanted_thrust * self._per_newton, 1.0)
