"""The two questions of thruster allocation: who shares the wrench, and when does each valve open.

A failed thruster is one whose available thrust is zero: no method gives it work, and the others share it.
"""

from __future__ import annotations

from typing import Protocol

from granite.config.records import Array


class Sharing(Protocol):
    """How a wrench is shared among the thrusters."""

    def share(self, wrench: Array) -> Array:
        """The thrust of each thruster [N], from 0 to what is available, for a finite wrench on the root body.

        The wrench is in the axes of the root body about its origin: (fx, fy [N], mz [N m]) planar,
        (fx, fy, fz, mx, my, mz) spatial.
        """


class Modulation(Protocol):
    """How a wanted thrust becomes the state of a valve."""

    def modulate(self, t: float, wanted_thrust: Array) -> Array:
        """The opening of each valve (0 closed, 1 open) from t to the next call, for the thrust wanted [N]."""
