"""The controllers of each mode: those of the testbed, and with the same estimator braking, floating and resting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from granite.config.records import Array, Command, Reference, State
from granite.config.run_modes import RunMode
from granite.config.testbed import Testbed
from granite.controllers.behaviours.braking import Braking
from granite.controllers.behaviours.resuming import Resuming
from granite.controllers.distribution.yaw_wheel import no_unloading
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import can_brake, possible_accelerations
from granite.controllers.run_modes.floating import EstimateFollower, JointDamping, mode_kernels, no_force, torques_only
from granite.controllers.stack import Stack


class ModeParts:
    """The parts of the other modes; they are built, and compiled, before the run."""

    def __init__(self, bed: Testbed, stack: Stack) -> None:
        model = ControlModel(bed) if bed.controller else None
        kernels = mode_kernels(bed, model)
        self.can_brake = can_brake(bed)
        self.following, self.no_force = EstimateFollower(bed, kernels["following"]), no_force(bed, kernels["no_force"])
        self.torques_only = torques_only(bed, kernels["torques_only"])
        self.braking = Braking(model, kernels) if model and self.can_brake else None
        self.damping = JointDamping(model, kernels["joint_damping"]) if model and self.can_brake else None
        #: of each velocity, what the actuators give at most
        self.possible = possible_accelerations(model) if model and self.can_brake else np.zeros(0)
        self._sizes = (len(bed.known.positions), len(bed.known.velocities)) if model else (0, 0)
        self._resuming = Resuming(stack.behaviour, *self._sizes)

    def resuming(self, stack: Stack) -> Resuming:
        """The behaviour of a stack after a pause."""
        if self._resuming.behaviour is not stack.behaviour:
            self._resuming = Resuming(stack.behaviour, *self._sizes)
        return self._resuming

    def behaviours(self) -> list[Any]:
        """All behaviours."""
        return [part for part in (self.following, self.braking, self._resuming) if part is not None]

    def laws(self) -> list[Any]:
        """All laws."""
        return [part for part in (self.no_force, self.damping) if part is not None]


class ModeStacks(dict[RunMode, Stack]):
    """The stack of each mode."""

    def __init__(self, bed: Testbed, stack: Stack, parts: ModeParts) -> None:
        #: as the testbed has it
        self.normal, self._parts, self.can_brake = stack, parts, parts.can_brake
        self.initial_direct = tuple(np.array(d.initial(bed), dtype=float) for d in bed.direct_actuators.values())
        self._resuming = parts.resuming(stack)
        parts.following.begin(self.initial_direct)
        rest = Stack(stack.estimator, parts.following, parts.no_force, parts.torques_only)
        super().__init__({RunMode.RUNNING: stack, RunMode.STOPPED: rest, RunMode.DISARMED: rest})
        if parts.braking is not None and parts.damping is not None:
            hold, damped = replace(stack, behaviour=parts.braking), replace(rest, law=parts.damping)
            self.update(
                {RunMode.FLOATING: damped, **dict.fromkeys((RunMode.HOLDING, RunMode.STOPPING, RunMode.ARMED), hold)}
            )
        self.no_command = Command(0.0, (), np.zeros(len(bed.thrusters)), no_unloading(bed))

    def begin(self, mode: RunMode, direct: tuple[Array, ...]) -> None:
        """A mode begins: set points of grips stay as they are, and a brake starts from the next state."""
        braking = self._parts.braking
        self._parts.following.begin(direct)
        if braking is not None and self[mode].behaviour is braking:
            braking.begin(direct)

    def resume(self, tau: float, q: Array, *, repeats: bool) -> None:
        """The behaviour goes on at its time tau from a pose that was held, or begins again there."""
        self._resuming.begin(tau, q, self._decelerations(q), repeats)
        self[RunMode.RUNNING] = replace(self.normal, behaviour=self._resuming)

    def stay(self, reference: Reference) -> bool:
        """A behaviour that takes goals stays at a pose that was held, whatever it was asked before; false of others."""
        stay = getattr(self.normal.behaviour, "stay", None)
        if stay is not None:
            stay(reference)
            self[RunMode.RUNNING] = self.normal
        return stay is not None

    def behaviour_time(self, t: float) -> float:
        """Time of the behaviour in mode RUNNING [s]."""
        return self._resuming.time(t) if self[RunMode.RUNNING] is not self.normal else t

    def is_at_rest(self, mode: RunMode, state: State) -> bool:
        """Whether the motion of a mode is over; where nothing brakes, it is."""
        braking = self._parts.braking
        if braking is None or self[mode].behaviour is not braking:
            return braking is None or braking.is_slow(state)
        return braking.is_at_rest(state)

    @property
    def braked(self) -> list[tuple[int, ...]]:
        """Indices of the velocities that a brake brings to rest together."""
        return self._parts.braking.groups if self._parts.braking else []

    @property
    def possible(self) -> Array:
        """Of each velocity, the greatest acceleration by the actuators [m/s^2 or rad/s^2]."""
        return self._parts.possible

    def _decelerations(self, q: Array) -> Array:
        """Of each coordinate at a pose [m/s^2 or rad/s^2]."""
        return self._parts.braking.most(q) if self._parts.braking else np.zeros(len(q))
