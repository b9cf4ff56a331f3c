"""Response of the valves to their commands, as the controllers predict it."""

from __future__ import annotations

import numpy as np

from granite.config.devices.thrusters import Thrusters
from granite.config.records import Array
from granite.mrds.valve_response import remembered_changes
from granite.mrds.valves import ValveBank


class IdealThrottles:
    """Ideal throttled thrusters: they deliver the commanded opening at once."""

    def __init__(self, n: int) -> None:
        self._opening: Array = np.zeros(n)

    def command(self, t: float, opening: Array) -> Array:
        """Command the throttles; returns the openings applied."""
        self._opening = opening
        return opening

    def mean_opening(self, t0: float, t1: float) -> Array:
        """Mean opening of each between two times."""
        return self._opening


#: takes commands, and predicts mean openings
Delivery = ValveBank | IdealThrottles


def build_delivery(thrusters: Thrusters, throttles: bool, period_s: float) -> Delivery:
    """Valves that are commanded every `period_s`, or throttles."""
    n = len(thrusters.units)
    if throttles:
        return IdealThrottles(n)
    return ValveBank(thrusters.valve, n, remembered_changes(thrusters.valve, period_s, throttled=False))
