"""What all simulated devices share, and what stands for a device that is not simulated."""

from __future__ import annotations

import numpy as np

from granite.config.records import Array


class SimulatedDevice:
    """A device without a wire: it is always there, so opening and closing it does nothing."""

    def open(self) -> None:
        """Nothing to take hold of."""

    def close(self) -> None:
        """Nothing to let go of."""


class AbsentDevice:
    """Stands on the plant for thrusters or motors that are not simulated: they push nothing there."""

    def __init__(self, n: int) -> None:
        #: of each motor [N m]
        self.torque: Array = np.zeros(n)

    def thrust(self, first: int, last: int) -> Array:
        """Of each thruster [N]."""
        return self.torque
