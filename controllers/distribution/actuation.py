"""The allocate step: a demanded generalised force becomes motor torques and valve states.

Motors act on their joints, thrusters on the root bodies. On/off thrusters never deliver the exact demand, and the
difference would disturb the arm. So the torques are solved again for the thrust f that the valves will deliver, keeping
the demanded joint accelerations g (ours; the Stanford report of 1987 stops at the plain law): with b the coordinates
without a motor,

    M_bb a_b = (B f)_b - h_b - M_bj g          tau = M_jb a_b + M_jj g + h_j - (B f)_j
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter

import casadi as ca
import numpy as np

from granite.config.devices.motors import Motors
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.records import Array, Command, Demand, Reference, State, new
from granite.config.testbed import Testbed
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.bank import ThrusterBank
from granite.mrds.compilation import compile_once
from granite.mrds.dynamics import solve


class Actuation:
    """Motors and thrusters of a testbed, and the actuators that its behaviour commands."""

    def __init__(self, model: ControlModel) -> None:
        bed = model.bed
        _refuse_a_wrench_twice(bed)
        self._n_motors = len(model.driven)
        self._banks = [ThrusterBank(device, model) for device in bed.devices_of(Thrusters).values()]
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
        self._deliver = compile_once("delivered", bed.fingerprint, lambda: [_delivered(model)])["delivered"].run

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        """Set points of all actuators for the demand, and the expected thrust."""
        t, direct = state.t, reference.direct or self._direct_rest
        if not state.ready:
            return Command(t, self._ordered([*self._at_rest, *direct]), self._no_thrust)
        arguments, computed = [state.q, state.u, demand.acceleration, demand.force], []
        for bank in self._banks:
            arguments.append(bank.open(t, demand.wrench))
        found = self._deliver(arguments)
        for part in self._torques:
            computed.append(found[part])
        for bank in self._banks:
            computed.append(bank.opening)
        computed += direct
        return new(Command, (t, self._ordered(computed), found[self._n_motors :]))


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


def _delivered(model: ControlModel) -> ca.Function:
    """(q, u, demanded acceleration and force, mean opening of each valve) -> torques of the driven joints, thrust."""
    n, driven, bed = model.n, model.driven, model.bed
    free = [i for i in range(n) if i not in driven]
    demanded, demanded_force = ca.SX.sym("a", n), ca.SX.sym("F", n)
    opening = ca.SX.sym("opening", len(bed.thrusters))
    thrust = ca.DM(model.available) * opening
    torque = demanded_force[driven] if driven else ca.SX(0, 1)
    if bed.control.resolve_delivered and driven and bed.thrusters:
        force = model.thrust_force(thrust)
        M, h, g = model.mass_matrix, model.bias, demanded[driven]
        a = ca.SX.zeros(n)
        a[driven] = g
        a[free] = solve(M[free, free], force[free] - h[free] - M[free, driven] @ g)
        torque = (model.inverse(a) - force)[driven]
    return ca.Function("delivered", [model.q, model.u, demanded, demanded_force, opening], [torque, thrust])
