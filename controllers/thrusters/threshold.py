"""Modulation without memory: a valve opens when the wanted thrust exceeds a part of the nominal one.

R' > R_th -> on (Stanford report of 1987, Table 4.2). What is wanted below the threshold is never delivered,
and a demand near it switches at every tick.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.records import Array


class Threshold:
    """Open exactly where the wanted thrust exceeds `threshold` times the available thrust."""

    def __init__(self, available: Array, threshold: float) -> None:
        self._level = np.where(available > 0.0, threshold * available, np.inf)

    def modulate(self, t: float, wanted_thrust: Array) -> Array:
        """The opening of each valve, 0 or 1."""
        return (wanted_thrust > self._level).astype(np.float64)

    def expression(self, wanted_thrust: ca.SX) -> ca.SX:
        """The same for a symbolic thrust."""
        return wanted_thrust > self._level
