"""The controllers of each mode: those of the testbed, and with the same estimator braking, floating and resting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from granite.config.records import Array, Command, State
from granite.config.run_modes import RunMode
from granite.config.testbed import Testbed
from granite.controllers.behaviours.braking import Braking
from granite.controllers.behaviours.tasks import interrupted
from granite.controllers.distribution.yaw_wheel import no_unloading
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import can_brake
from granite.controllers.run_modes.floating import Following, JointDamping, TorquesOnly, no_force, recorded_numbers
from granite.controllers.stack import Stack


class ModeStacks(dict[RunMode, Stack]):
    """The stack of each mode."""

    def __init__(self, bed: Testbed, stack: Stack) -> None:
        model = ControlModel(bed) if bed.controller else None
        n_u = len(bed.known.velocities) if bed.controller else 0
        #: as the testbed has it
        self.normal = stack
        self.can_brake = can_brake(bed)
        self.initial_direct = tuple(np.array(d.initial(bed), dtype=float) for d in bed.direct_actuators.values())
        self._following, self._braking = (
            Following(n_u, interrupted(bed)),
            Braking(model) if model and self.can_brake else None,
        )
        self._following.begin(self.initial_direct)
        rest = Stack(stack.estimator, self._following, no_force(bed, model), TorquesOnly(bed))
        super().__init__({RunMode.RUNNING: stack, RunMode.STOPPED: rest, RunMode.DISARMED: rest})
        if model is not None and self._braking is not None:
            hold = replace(stack, behaviour=self._braking)
            damped = replace(rest, law=JointDamping(model, recorded_numbers(bed)))
            self.update(
                {RunMode.FLOATING: damped, **dict.fromkeys((RunMode.HOLDING, RunMode.STOPPING, RunMode.ARMED), hold)}
            )
        self.no_command = Command(0.0, (), np.zeros(len(bed.thrusters)), no_unloading(bed))

    def begin(self, mode: RunMode, direct: tuple[Array, ...]) -> None:
        """A mode begins: set points of grips stay as they are, and a brake starts from the next state."""
        self._following.begin(direct)
        if self._braking is not None and self[mode].behaviour is self._braking:
            self._braking.begin(direct)

    def is_at_rest(self, mode: RunMode, state: State) -> bool:
        """Whether the motion of a mode is over; where nothing brakes, it is."""
        if self._braking is None or self[mode].behaviour is not self._braking:
            return self._braking is None or self._braking.is_slow(state)
        return self._braking.is_at_rest(state)

    def decelerations(self, q: Array) -> Array:
        """Of each coordinate at a pose [m/s^2 or rad/s^2]."""
        return self._braking.most(q) if self._braking else np.zeros(len(q))
