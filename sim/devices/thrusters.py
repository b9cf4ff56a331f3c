"""Simulated thrusters: valves with dead time, rise and shortest pulse, and units that have failed or are stuck."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

from granite.config.devices.thrusters import Thrusters
from granite.config.records import NOTHING, Array, Frame, Status
from granite.kernels.compiled_form import CompiledForm
from granite.mrds.valve_response import remembered_changes
from granite.mrds.valves import ValveBank
from granite.sim.devices.device import SimulatedActuator
from granite.sim.plant.plant import Plant

_OK = int(Status.OK)


class SimulatedThrusters(SimulatedActuator):
    """The thrusters of one device. A failed one takes its commands like the others, but gives no thrust."""

    def __init__(self, thrusters: Thrusters, plant: Plant, rng: np.random.Generator) -> None:
        self._plant, self._units = plant, [unit.name for unit in thrusters.units]
        self._healthy = np.array([0.0 if unit.failed else unit.thrust_n for unit in thrusters.units])
        self._always_open = thrusters.simulated.stuck_open
        self._valve = None if thrusters.simulated.ideal else thrusters.valve
        self._changes = remembered_changes(thrusters.valve, plant.bed.loop.period_s, throttled=True)
        self._valves = self._closed_valves()
        self._opening: Array | None = None
        self._thrust: Array = np.zeros(len(self._healthy))
        self._number = 0
        self.set_faults(())
        plant.attach_thrusters(thrusters, self)

    @staticmethod
    def compiled_form(devices: Sequence[SimulatedThrusters]) -> CompiledForm:
        """All devices of this kind in C, with valves or throttles; at their start."""
        banks = [device._valves if isinstance(device._valves, ValveBank) else None for device in devices]
        memories = [bank.memory if bank else NOTHING for bank in banks]
        valves = [len(device._units) for device in devices]
        return CompiledForm(
            (),
            {"SIM_BANKS": len(banks), "SIM_BANKS_SIZE": sum(map(len, memories)), "SIM_THRUSTERS": sum(valves)},
            {
                "SIM_IS_THROTTLED": [int(bank is None) for bank in banks],
                "SIM_FIRST": [0, *accumulate(valves)],
                "SIM_BANK": [0, *accumulate(map(len, memories))],
                "SIM_BANK_SIZE": [bank.size if bank else 0 for bank in banks],
                "SIM_VALVES": valves,
            },
            {
                "sim_timing": np.array([bank.timing if bank else np.zeros(3) for bank in banks]),
                "sim_nominal": np.concatenate([NOTHING, *(device._nominal for device in devices)]),
                "sim_stuck": np.concatenate([NOTHING, *(device._stuck for device in devices)]),
            },
            {"sim_banks": np.concatenate([NOTHING, *memories]), "sim_throttles": np.zeros(sum(valves))},
            {
                "sim_command": [bank.kernels[0] if bank else None for bank in banks],
                "sim_move": [bank.kernels[1] if bank else None for bank in banks],
            },
        )

    def write(self, t: float, setpoint: Array) -> Frame:
        """Switch the valves; the frame has the openings applied."""
        self._plant.advance(t)
        self._number += 1
        return Frame(t, self._number, _OK, self._valves.command(t, setpoint))

    def stop(self, t: float) -> Frame:
        """No thrust from now on: a stop waits neither for the valves' delay nor for their shortest pulse."""
        self._plant.advance(t)
        self._valves = self._closed_valves()
        self._number += 1
        return Frame(t, self._number, _OK, np.zeros(len(self._healthy)))

    @property
    def size(self) -> int:
        """Number of thrusters."""
        return len(self._units)

    def set_faults(self, faults: Iterable[tuple[str, str, float | None]]) -> None:
        """From the next command on these give no thrust or a part of it, or are always open; no frame reports it."""
        self._nominal, self._stuck = self.faulty_units(faults)
        self._opening = None

    def faulty_units(self, faults: Iterable[tuple[str, str, float | None]]) -> tuple[Array, Array]:
        """Thrust of each thruster with these faults [N], and which are always open."""
        factors, stuck = np.ones(len(self._units)), set(self._always_open)
        for what, unit, value in faults:
            if what == "stuck_open":
                stuck.add(unit)
            else:
                factors[self._units.index(unit)] *= 0.0 if what == "dead" else value or 0.0
        return self._healthy * factors, np.array([unit in stuck for unit in self._units])

    def thrust(self, first: int, last: int) -> Array:
        """Mean thrust with a full tank in each physics step [N], one row each, or one row for all (n)."""
        opening = self._valves.mean_openings(first, last, self._plant.step_s)
        if opening is not self._opening:  # it stays the same array while no valve moves
            self._opening = opening
            self._thrust = (np.where(self._stuck, 1.0, opening) if self._stuck.any() else opening) * self._nominal
        return self._thrust

    def _closed_valves(self) -> ValveBank | ClampedThrottles:
        n = len(self._healthy)
        return ValveBank(self._valve, n, self._changes) if self._valve else ClampedThrottles(n)


class ClampedThrottles:
    """Ideal valves: any opening from 0 to 1, at once."""

    def __init__(self, n: int) -> None:
        self._opening: Array = np.zeros(n)

    def command(self, t: float, opening: Array) -> Array:
        """Open as commanded; returns the openings applied."""
        self._opening = np.minimum(np.maximum(opening, 0.0), 1.0) + 0.0  # never -0
        return self._opening

    def mean_openings(self, first: int, last: int, step_s: float) -> Array:
        """The last command, in every step."""
        return self._opening
