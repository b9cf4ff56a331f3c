"""What the valves really do with their commands, as the controllers expect it."""

from __future__ import annotations

import numpy as np

from config.controller import Allocation
from config.devices import Thrusters
from config.records import Array
from mrds.valve_response import remembered_changes
from mrds.valves import ValveBank


class Delivery:
    """Predicts mean openings. Throttled thrusters are ideal: they deliver at once what they are told."""

    def __init__(self, thrusters: Thrusters, allocation: Allocation, period_s: float) -> None:
        self._throttled = allocation.modulation == "proportional"
        changes = remembered_changes(thrusters.valve, period_s)
        self._valves = ValveBank(thrusters.valve, len(thrusters.units), changes)
        self._opening = np.zeros(len(thrusters.units))

    def command(self, t: float, opening: Array) -> Array:
        """Tell the valves; the openings they take (an open valve stays open for its minimum on-time)."""
        self._opening = opening if self._throttled else self._valves.command(t, opening)
        return self._opening

    def mean_opening(self, t0: float, t1: float) -> Array:
        """Mean opening of each valve between two times."""
        return self._opening if self._throttled else self._valves.mean_opening(t0, t1)
