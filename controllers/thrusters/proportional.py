"""Modulation of ideal, throttled thrusters: the opening is the wanted part of the thrust."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array


class Proportional:
    """opening = wanted / available."""

    def __init__(self, available: Array) -> None:
        self._per_newton = np.divide(1.0, available, out=np.zeros(len(available)), where=available > 0.0)

    def modulate(self, t: float, wanted_thrust: Array) -> Array:
        """The opening of each valve, 0 to 1."""
        return np.minimum(wanted_thrust * self._per_newton, 1.0)
