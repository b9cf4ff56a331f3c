"""Modulation without memory: a valve opens when the wanted thrust exceeds a part of the nominal one.

R' > R_th -> on (Stanford report of 1987, Table 4.2). Thrust below the threshold is never delivered,
and a demand near it switches at every tick.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import casadi as ca
import numpy as np
from pydantic import Field

from granite.config.parts import PartTable
from granite.config.records import Array
from granite.config.tunable import Tunable
from granite.controllers.thrusters.contract import ThrusterSet


class Threshold:
    """Open exactly where the wanted thrust exceeds `threshold` times the available thrust."""

    throttles: ClassVar[bool] = False
    makes_pulses: ClassVar[bool] = False

    class Options(PartTable):
        """The threshold."""

        #: of the nominal thrust (Table 4.2's R_th / R)
        threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5

        def tunable(self, bed: Any) -> tuple[Tunable, ...]:
            """The threshold."""
            return (Tunable("threshold", 0.05, 0.95, "linear"),)

    def __init__(self, options: Options, thrusters: ThrusterSet) -> None:
        available = thrusters.available
        self._level = np.where(available > 0.0, options.threshold * available, np.inf)

    def modulate(self, t: float, wanted_thrust: Array) -> Array:
        """The opening of each valve, 0 or 1."""
        return (wanted_thrust > self._level).astype(np.float64)

    @property
    def memory(self) -> Array:
        """It has none."""
        return np.zeros(0)

    def expression(self, memory: ca.SX, t: ca.SX, wanted_thrust: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The same in symbols."""
        return memory, wanted_thrust > self._level
