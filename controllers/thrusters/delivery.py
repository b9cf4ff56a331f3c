"""What the vehicle really feels of its thrusters: the valves' answer to the commands, as thrust and as wrench."""

from __future__ import annotations

import numpy as np

from config.controller import Allocation
from config.devices import Thrusters
from config.records import Array
from controllers.thrusters.geometry import Dimension, available_thrust, thruster_matrix
from mrds.valves import ValveBank


class Delivery:
    """Predicts thrust from openings. Throttled thrusters are ideal: they deliver at once what they are told."""

    def __init__(self, thrusters: Thrusters, allocation: Allocation, dimension: Dimension) -> None:
        self.matrix = thruster_matrix(thrusters, dimension)
        self._available = available_thrust(thrusters)
        self._throttled = allocation.modulation == "proportional"
        self._valves = ValveBank(thrusters.valve, len(thrusters.units))
        self._opening = np.zeros(len(thrusters.units))

    def command(self, t: float, opening: Array) -> Array:
        """Tell the valves; the openings they take (an open valve stays open for its minimum on-time)."""
        self._opening = opening if self._throttled else self._valves.command(t, opening)
        return self._opening

    def thrust(self, t0: float, t1: float) -> Array:
        """Mean thrust of each thruster between two times [N]."""
        mean = self._opening if self._throttled else self._valves.mean_opening(t0, t1)
        thrust: Array = mean * self._available
        return thrust

    def wrench(self, thrust: Array) -> Array:
        """Wrench of these thrusts on the root body, in its own axes."""
        result: Array = self.matrix @ thrust
        return result
