"""The allocate step: a demanded generalised force becomes motor torques and valve states.

Motors act on their joints, thrusters on the root bodies, and a wheel on both. On/off thrusters never deliver the exact
demand, motors have limits, and both would disturb the arm. So the force is shared in three steps, all in one tick
(`shared_force.py` has the formulas): the wrench for the thrusters, with torques at their limits and the wheel's part
taken off; the valves, without those thrusters whose fault was found; and the torques for the thrust that these valves
will deliver.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from operator import itemgetter
from pathlib import Path

import casadi as ca
import numpy as np

from granite.config.devices.motors import Motors
from granite.config.devices.pressure import Pressure
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.records import NOTHING, Array, Command, Demand, Reference, State
from granite.config.testbed import Testbed
from granite.controllers.contact_sets import ReportedContactSet
from granite.controllers.distribution.shared_force import after_valves, before_valves, resolves
from granite.controllers.distribution.yaw_wheel import no_unloading, refuse_yaw_wheel
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.allocator import WITH_COMPILED_FORM
from granite.controllers.thrusters.bank import ThrusterBank
from granite.controllers.thrusters.best_pattern import SOURCE as BEST_PATTERN
from granite.controllers.thrusters.best_pattern import BestPattern
from granite.controllers.thrusters.least_propellant import SOURCE as LEAST_PROPELLANT
from granite.kernels.compilation import compile_once
from granite.kernels.compiled_form import CompiledForm, joined_memory
from granite.mrds.valves import ValveBank

#: part of the thrust of the data sheet below which valves are not opened for longer: little gas is left
_LEAST_SUPPLY = 0.2


class Actuation:
    """Motors and thrusters of a testbed, and the actuators that its behaviour commands."""

    def __init__(self, model: ControlModel) -> None:
        bed = model.bed
        _refuse_a_wrench_twice(bed)
        refuse_yaw_wheel(bed)
        self._n_motors, self._undisturbed = len(model.driven), np.zeros(model.n)
        self._banks: list[ThrusterBank] = []
        first = 0
        for device in bed.devices_of(Thrusters).values():
            self._banks.append(ThrusterBank(device, model, first))
            first += len(device.units)
        deliveries, allocators = [bank.delivery for bank in self._banks], [bank.allocator for bank in self._banks]
        self._bank_memory = joined_memory([bank for bank in deliveries if isinstance(bank, ValveBank)])
        self._allocator_memory = joined_memory([one for one in allocators if isinstance(one, WITH_COMPILED_FORM)])
        self._torques: list[slice] = []
        at = 0
        for motors in bed.devices_of(Motors).values():
            self._torques.append(slice(at, at + len(motors.units)))
            at += len(motors.units)
        #: torques, openings and direct set points as they are computed, in the order of the actuators
        computed = [*bed.devices_of(Motors), *bed.devices_of(Thrusters), *bed.direct_actuators]
        order = [computed.index(name) for name in bed.actuators]
        in_order = order == sorted(order)
        self._ordered: Callable[[list[Array]], tuple[Array, ...]] = tuple if in_order else itemgetter(*order)
        rest = [np.zeros(len(bed.actuators[name].signals(bed))) for name in computed]
        n_direct = len(bed.direct_actuators)
        self._at_rest, self._direct_rest = rest[: len(rest) - n_direct], rest[len(rest) - n_direct :]
        self._no_thrust = np.zeros(len(bed.thrusters))
        sets = model.contact_sets
        self._is_gauged = bool(bed.devices_of(Pressure))
        self._has_payload = bed.control.payload is not None

        def write() -> list[ca.Function]:
            return [before_valves(model), *(after_valves(model, one, f"delivered_{i}") for i, one in enumerate(sets))]

        kernels = compile_once("actuation", bed.fingerprint, write)
        self._shared, self._delivered = kernels["shared"], [kernels[f"delivered_{i}"] for i in range(len(sets))]
        self._share, self._deliver = self._shared.run, [kernel.run for kernel in self._delivered]
        self._contacts = ReportedContactSet(model)
        self._n_wrench, self._resolves = model.n_wrench, resolves(model)
        #: of the yaw wheel, from tick to tick
        self._unloading = no_unloading(bed)
        names = list(bed.actuators)
        #: indices of the devices among the actuators, and their sizes
        self._motor_devices, self._bank_devices, self._direct_devices = (
            {names.index(name): len(device.signals(bed)) for name, device in devices.items()}
            for devices in (bed.devices_of(Motors), bed.devices_of(Thrusters), bed.direct_actuators)
        )

    def compiled_form(self) -> CompiledForm | None:
        """The same in C; None where the thrusters are allocated in Python."""
        allocators = [bank.allocator for bank in self._banks if isinstance(bank.allocator, WITH_COMPILED_FORM)]
        if len(allocators) < len(self._banks):
            return None
        banks = [bank.delivery for bank in self._banks if isinstance(bank.delivery, ValveBank)]
        memories, starts = [bank.memory for bank in banks], [allocator.memory for allocator in allocators]
        valves, tables = list(self._bank_devices.values()), [allocator.table for allocator in allocators]
        return CompiledForm(
            (LEAST_PROPELLANT, BEST_PATTERN, Path(__file__).with_suffix(".c")),
            {
                "BANKS": len(self._banks),
                "BANK_THROTTLES": int(len(banks) < len(self._banks)),
                "MOTOR_DEVICES": len(self._motor_devices),
                "N_MOTORS": self._n_motors,
                "N_THRUSTERS": sum(valves),
                "N_DIRECT_DEVICES": len(self._direct_devices),
                "ALLOCATOR_LONGEST": max([1, *map(len, starts), *valves]),
                "N_WRENCH": self._n_wrench,
                "N_UNLOADING": len(self._unloading),
                "HAS_PAYLOAD": int(self._has_payload),
                "RESOLVES": int(self._resolves),
                "SUPPLY_IS_MEASURED": int(self._is_gauged),
                "ALLOCATION_GRIPS": self._contacts.reports.shape[1],
                "ALLOCATION_SETS": len(self._delivered),
            },
            {
                "BANK": [0, *accumulate(map(len, memories))],
                "BANK_SIZE": [bank.size for bank in banks],
                "BANK_VALVES": valves,
                "BANK_DEVICE": list(self._bank_devices),
                "BANK_WRENCH": [bank.wrench.start for bank in self._banks],
                "ALLOCATOR": [0, *accumulate(map(len, starts))],
                "ALLOCATOR_SIZE": list(map(len, starts)),
                "SHARING": [0, *accumulate(map(len, tables))],
                "SHARING_SIZE": list(map(len, tables)),
                "SHARES_BY_PATTERN": [
                    int(isinstance(getattr(allocator, "sharing", None), BestPattern)) for allocator in allocators
                ],
                "MOTOR_DEVICE": list(self._motor_devices),
                "MOTORS_OF": list(self._motor_devices.values()),
                "DIRECT": list(self._direct_devices),
                "DIRECT_SIZE": list(self._direct_devices.values()),
            },
            {
                "bank_timing": np.array([bank.timing for bank in banks]),
                "sharing": np.concatenate([NOTHING, *tables]),
                "shared_drop": np.array([bank.shared_drop for bank in self._banks]),
                "least_supply": np.array([_LEAST_SUPPLY]),
                "allocation_sets": self._contacts.reports,
            },
            {
                "banks": self._bank_memory,
                "allocators": self._allocator_memory,
                "unloading": self._unloading,
                "allocation_set": self._contacts.index,
            },
            {
                "shared": [self._shared],
                "delivered": self._delivered,
                "allocation": [allocator.kernel for allocator in allocators],
                "bank_command": [bank.kernels[0] for bank in banks],
                "bank_move": [bank.kernels[1] for bank in banks],
            },
            "actuation_allocate",
        )

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        """Set points of all actuators for the demand, and the expected thrust."""
        t, direct = state.t, reference.direct or self._direct_rest
        if not state.ready:
            return Command(t, self._ordered([*self._at_rest, *direct]), self._no_thrust, self._unloading.copy())
        disturbance = state.disturbance if len(state.disturbance) else self._undisturbed
        force, wrench, planned, computed = demand.force, demand.wrench, NOTHING, []
        if self._resolves:
            shared = self._share((state.q, state.u, force, wrench, disturbance, self._unloading, state.payload))
            n_wrench, end = self._n_wrench, self._n_wrench + len(force)
            wrench, force = shared[:n_wrench], shared[n_wrench:end]
            if len(self._unloading):
                self._unloading[:], planned = shared[end:-1], shared[-1:]
        arguments = [state.q, state.u, force, planned]
        for i, bank in enumerate(self._banks):
            supply = state.supply.item(i) if len(state.supply) else 1.0
            arguments.append(bank.open(t, wrench, state.faults, _usable(supply)))
        arguments.append(state.payload)
        delivered = self._deliver[self._contacts.follow(state.holding)](arguments)
        for part in self._torques:
            computed.append(delivered[part])
        for bank in self._banks:
            computed.append(bank.opening)
        computed += direct
        return Command(t, self._ordered(computed), delivered[self._n_motors :], self._unloading.copy())


def _usable(supply: float) -> float:
    """The part of its thrust with which a device is allocated; all of it where an estimator says nothing of it."""
    return min(max(supply, _LEAST_SUPPLY), 1.0) if supply > 0 else 1.0


def _refuse_a_wrench_twice(bed: Testbed) -> None:
    """Each device gets the whole wrench on its module: two on one module would give it twice."""
    pushed: dict[str, str] = {}
    for name, device in bed.devices_of(Thrusters).items():
        module = device.pushed(bed).name
        if module in pushed:
            raise InputError(
                f"'{pushed[module]}' pushes it as well", key=f"devices.{name}.module", value=module,
                expected="one device of thrusters for each module",
            )  # fmt: skip
        pushed[module] = name
