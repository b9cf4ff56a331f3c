"""The allocate step: a demanded generalised force becomes motor torques and valve states.

Motors act on their joints, thrusters on the root bodies. On/off thrusters never deliver what was asked, and what they
miss would shake the arm. So the torques are solved again for the thrust f that the valves will really deliver, keeping
the demanded joint accelerations g (ours; the Stanford report of 1987 stops at the plain law): with b the coordinates
without a motor,

    M_bb a_b = (B f)_b - h_b - M_bj g          tau = M_jb a_b + M_jj g + h_j - (B f)_j
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.devices.motors import Motors
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import InputError
from granite.config.records import Array, Command, Demand, Reference, State
from granite.config.testbed import Testbed
from granite.controllers.model import ControlModel
from granite.controllers.thrusters.bank import ThrusterBank
from granite.mrds.compilation import compile_functions
from granite.mrds.dynamics import solve


class Actuation:
    """Motors and thrusters of a testbed, and the actuators that its behaviour commands."""

    def __init__(self, model: ControlModel) -> None:
        bed = model.bed
        _refuse_a_wrench_twice(bed)
        self._period, self._n_motors = bed.loop.period_s, len(model.driven)
        self._banks = {name: ThrusterBank(device, model) for name, device in bed.devices_of(Thrusters).items()}
        #: of each actuator, where its set point comes from: a slice of the torques, a bank, or the behaviour
        self._sources: list[slice | ThrusterBank | int] = []
        at, direct = 0, list(bed.direct_actuators)
        for name, device in bed.actuators.items():
            if isinstance(device, Motors):
                self._sources.append(slice(at, at + len(device.units)))
                at += len(device.units)
            else:
                self._sources.append(self._banks[name] if name in self._banks else direct.index(name))
        self._rest = tuple(np.zeros(len(device.signals(bed))) for device in bed.actuators.values())
        self._no_thrust = np.zeros(len(bed.thrusters))
        self._deliver = compile_functions("delivered", [_delivered(model)])["delivered"].run

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        """Set points of all actuators for the demand, and the thrust that will come of it."""
        t = state.t
        if not state.ready:
            return Command(t, self._rest_with(reference), self._no_thrust)
        means = [bank.open(t, demand.wrench) for bank in self._banks.values()]
        found = self._deliver((state.q, state.u, demand.acceleration, demand.force, *means))
        torque, thrust = found[: self._n_motors], found[self._n_motors :]
        setpoints: list[Array] = []
        for source in self._sources:
            if isinstance(source, slice):
                setpoints.append(torque[source])
            elif isinstance(source, int):
                setpoints.append(reference.direct[source])
            else:
                setpoints.append(source.opening)
        return Command(t, tuple(setpoints), thrust)

    def _rest_with(self, reference: Reference) -> tuple[Array, ...]:
        """Everything at rest, but for what the behaviour commands."""
        pairs = zip(self._sources, self._rest, strict=True)
        return tuple(reference.direct[source] if isinstance(source, int) else rest for source, rest in pairs)


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
