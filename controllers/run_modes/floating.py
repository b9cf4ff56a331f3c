"""Floating and resting: no thrust, joints damped or free, grips as they are.

Joints are damped by tau_i = -k M_ii(q) u_i, which takes energy out whatever the model is wrong in.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from granite.config.devices.motors import Motors
from granite.config.records import NOTHING, Array, Command, Demand, Reference, State
from granite.config.testbed import Testbed
from granite.controllers.behaviours.braking import inertia_function
from granite.controllers.distribution.yaw_wheel import no_unloading
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import coasting_wheels
from granite.kernels.compilation import compile_once


class Following:
    """A reference without a target: the estimate itself."""

    def __init__(self, n_u: int, task: Array = NOTHING) -> None:
        self._rest: Array = np.zeros(n_u)
        self._direct: tuple[Array, ...] = ()
        self._task = task

    def begin(self, direct: tuple[Array, ...]) -> None:
        """Set points of grips stay as they are."""
        self._direct = direct

    def decide(self, state: State) -> Reference:
        """The reference is the estimate."""
        q, u = np.nan_to_num(state.q), np.nan_to_num(state.u)
        return Reference(state.t, q, u, self._rest, False, self._direct, self._task)


class NoForce:
    """A law that demands nothing."""

    def __init__(self, n_u: int, n_wrench: int, recorded: Array) -> None:
        self._force, self._wrench, self._recorded = np.zeros(n_u), np.zeros(n_wrench), recorded

    def control(self, state: State, reference: Reference) -> Demand:
        """No acceleration, no force."""
        return Demand(state.t, self._force, self._force, self._wrench, self._recorded)


class JointDamping:
    """A law that damps the joints with motors."""

    def __init__(self, model: ControlModel, recorded: Array) -> None:
        kernels = compile_once("inertia", model.bed.fingerprint, lambda: [inertia_function(model)])
        self._inertia, self._wrench, self._recorded = (
            kernels["inertia"].run, np.zeros(model.n_wrench), recorded,
        )  # fmt: skip
        self._rate: Array = np.zeros(model.n)
        self._rate[model.driven] = model.bed.safety.braking.float_damping_1_s
        for joint in coasting_wheels(model.bed):
            self._rate[model.layout.joint_u(joint)] = 0.0

    def control(self, state: State, reference: Reference) -> Demand:
        """Torques against the rates of the joints."""
        force = -self._rate * self._inertia((np.nan_to_num(state.q),)) * np.nan_to_num(state.u)
        return Demand(state.t, np.zeros(len(force)), force, self._wrench, self._recorded)


class TorquesOnly:
    """The allocate step without thrust: torques of the demand, valves closed, grips as the reference has them."""

    def __init__(self, bed: Testbed) -> None:
        self._no_thrust, self._not_unloading = np.zeros(len(bed.thrusters)), no_unloading(bed)
        direct = list(bed.direct_actuators)
        self._of: list[Callable[[Reference, Demand], Array]] = []
        for name, device in bed.actuators.items():
            n = len(device.signals(bed))
            if isinstance(device, Motors):
                self._of.append(_torques(bed, device))
            elif name in direct:
                self._of.append(_direct(direct.index(name), n))
            else:
                self._of.append(_closed(n))

    def allocate(self, state: State, reference: Reference, demand: Demand) -> Command:
        """Set points of all actuators."""
        return Command(state.t, tuple(of(reference, demand) for of in self._of), self._no_thrust, self._not_unloading)


def _torques(bed: Testbed, motors: Motors) -> Callable[[Reference, Demand], Array]:
    if bed.controller is None:
        return _closed(len(motors.units))
    places = [bed.known.joint_u(motor.joint) for motor in motors.units]
    return lambda reference, demand: demand.force[places]


def _direct(i: int, n: int) -> Callable[[Reference, Demand], Array]:
    return lambda reference, demand: reference.direct[i] if reference.direct else np.zeros(n)


def _closed(n: int) -> Callable[[Reference, Demand], Array]:
    closed = np.zeros(n)
    return lambda reference, demand: closed


def no_force(bed: Testbed, model: ControlModel | None) -> NoForce:
    """The law of a robot at rest."""
    if model is None:
        return NoForce(0, 0, NOTHING)
    return NoForce(model.n, model.n_wrench, recorded_numbers(bed))


def recorded_numbers(bed: Testbed) -> Array:
    """What the law of a testbed records beside its demand, while it does not run: NaN, or a number that is no fault."""
    law = bed.control.law
    names = [c.name for c in law.recorded(bed)]
    found = np.full(len(names), np.nan)
    for limit in law.judged(bed):
        bounds = [bound for bound in (limit.least, limit.most) if np.isfinite(bound)]
        found[names.index(limit.name)] = bounds[0] if bounds else 0.0
    return found
