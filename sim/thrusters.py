"""Simulated thrusters: valves that take their time, and units that may have failed."""

from __future__ import annotations

import numpy as np

from granite.config.errors import InputError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.valve_response import remembered_changes
from granite.mrds.valves import ValveBank
from granite.sim.device import SimulatedDevice
from granite.sim.plant import Plant


class SimulatedThrusters(SimulatedDevice):
    """All thrusters of the vehicle. One that has failed clicks like the others, but gives nothing."""

    def __init__(self, bed: Testbed, plant: Plant) -> None:
        thrusters = bed.devices.thrusters
        if thrusters is None:
            raise InputError("devices.thrusters: missing, there is nothing to simulate")
        self._plant = plant
        self._nominal = np.array([0.0 if unit.failed else unit.thrust_n for unit in thrusters.units])
        self._valve = None if bed.simulation.thrusters.ideal else thrusters.valve
        self._changes = remembered_changes(thrusters.valve, bed.loop.period_s, throttled=True)
        self._valves = self._closed_valves()
        self._opening = self._thrust = np.zeros(len(self._nominal))
        plant.thrusters = self

    def write(self, t: float, setpoint: Array) -> Array:
        """Switch the valves; return the openings they take."""
        self._plant.advance(t)
        return self._valves.command(t, setpoint)

    def stop(self, t: float) -> None:
        """No thrust from now on: a stop waits neither for the valves' delay nor for their shortest pulse."""
        self._plant.advance(t)
        self._valves = self._closed_valves()

    def thrust(self, first: int, last: int) -> Array:
        """Mean thrust with a full tank in each physics step [N], one row each, or one row for all (n_t)."""
        opening = self._valves.mean_openings(first, last, self._plant.step_s)
        if opening is not self._opening:  # it stays the same array while no valve moves
            self._opening, self._thrust = opening, opening * self._nominal
        return self._thrust

    def _closed_valves(self) -> ValveBank | IdealThrottles:
        n = len(self._nominal)
        return ValveBank(self._valve, n, self._changes) if self._valve else IdealThrottles(n)


class IdealThrottles:
    """Ideal valves: any opening from 0 to 1, at once."""

    def __init__(self, n: int) -> None:
        self._opening: Array = np.zeros(n)

    def command(self, t: float, opening: Array) -> Array:
        """Open as told; return the openings taken."""
        self._opening = np.minimum(np.maximum(opening, 0.0), 1.0)
        return self._opening

    def mean_openings(self, first: int, last: int, step_s: float) -> Array:
        """What was told last, in every step."""
        return self._opening
