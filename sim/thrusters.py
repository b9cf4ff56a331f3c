"""Simulated thrusters: valves that take their time, fed by a tank whose pressure falls as it empties."""

from __future__ import annotations

import math

import numpy as np

from config.errors import InputError
from config.records import Array
from config.testbed import Testbed
from mrds.valves import ValveBank
from sim.device import SimulatedDevice
from sim.plant import Plant


class SimulatedThrusters(SimulatedDevice):
    """All thrusters of the vehicle. One that has failed clicks like the others, but gives nothing."""

    def __init__(self, bed: Testbed, plant: Plant) -> None:
        thrusters, faults = bed.devices.thrusters, bed.simulation.thrusters
        if thrusters is None:
            raise InputError("devices.thrusters: missing, there is nothing to simulate")
        self._plant = plant
        self._nominal = np.array([0.0 if unit.failed else unit.thrust_n for unit in thrusters.units])
        self._valve = None if faults.ideal else thrusters.valve
        self._valves = self._closed_valves()
        self._tank = None if faults.ideal else faults.tank_n_s
        self.impulse_left = self._tank or math.nan
        self.impulse_used = 0.0
        plant.thrusters = self

    def write(self, t: float, setpoint: Array) -> Array:
        """Switch the valves; return the openings they take."""
        self._plant.advance(t)
        return self._valves.command(t, setpoint)

    def stop(self, t: float) -> None:
        """No thrust from now on: a stop waits neither for the valves' delay nor for their shortest pulse."""
        self._plant.advance(t)
        self._valves = self._closed_valves()

    def thrust(self, t0: float, t1: float) -> Array:
        """Mean thrust of each thruster from t0 to t1 (n_t) [N]; the tank empties by it."""
        thrust = self._nominal * self._valves.mean_opening(t0, t1)
        impulse: float = sum(thrust.tolist()) * (t1 - t0)
        if self._tank is None or impulse == 0.0:
            self.impulse_used += impulse
            return thrust
        # Thrust is nominal times left/tank, so what is left decays exponentially over the step.
        given = -self.impulse_left * math.expm1(-impulse / self._tank)
        self.impulse_left -= given
        self.impulse_used += given
        return thrust * (given / impulse)

    def _closed_valves(self) -> ValveBank | Throttles:
        n = len(self._nominal)
        return ValveBank(self._valve, n) if self._valve else Throttles(n)


class Throttles:
    """Ideal valves: any opening from 0 to 1, at once."""

    def __init__(self, n: int) -> None:
        self._opening: Array = np.zeros(n)

    def command(self, t: float, opening: Array) -> Array:
        """Open as told; return the openings taken."""
        self._opening = np.minimum(np.maximum(opening, 0.0), 1.0)
        return self._opening

    def mean_opening(self, t0: float, t1: float) -> Array:
        """What was told last."""
        return self._opening
