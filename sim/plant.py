"""The plant: the robot's multibody model on the granite, pushed by thrusters and motors, in fixed steps."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from config.records import Array
from config.testbed import Testbed
from mrds.compilation import compile_functions
from mrds.kernel import Kernel, slot
from sim.equations import State, initial_state, stride_functions

_ROUNDING = 1e-6  #: of a step: times closer than this are the same
_LONGEST = 50  #: steps in one call of compiled code: each lengthens the code


class ThrustSource(Protocol):
    """What pushes the root body."""

    def thrust(self, first: int, last: int) -> Array:
        """Mean thrust of each thruster with a full tank in the physics steps after `first` up to `last` [N].

        One row for each step, or a single one if they are all the same. Every step is asked for once, in turn.
        """


class TorqueSource(Protocol):
    """What turns the joints."""

    torque: Array  #: (n_m) [N m]


class Observer(Protocol):
    """What must see every step of the motion, not only its state at the ticks."""

    def observe(self, last: int, path: Array) -> None:
        """The true [q; u] at the end of some steps, one row each, up to step `last`; valid during the call only."""


class Plant:
    """The true motion of the robot.

    Devices attach themselves: one source of thrust, one of torque, any number of observers. Without a source
    there is no force.
    """

    thrusters: ThrustSource | None = None
    motors: TorqueSource | None = None

    def __init__(self, bed: Testbed) -> None:
        self.step_s = bed.simulation.physics_step_s
        self.observers: list[Observer] = []
        start = initial_state(bed)
        self._whole = np.concatenate(start)
        self._whole_slot = slot(self._whole)
        #: views of the whole state, part by part
        self._state: State[Array] = State(*np.split(self._whole, np.cumsum([len(part) for part in start])[:-1]))
        self._pushed_slot, self._nothing_pushed = slot(self._state.pushed), np.zeros(len(start.pushed))
        #: q and u as they are now: views that go on moving, for who copies at once
        self.live: tuple[Array, Array] = self._state.q, self._state.u
        #: the sensed joints: true angles [rad], then rates behind their filters [rad/s] (2 n_s); a view, too
        self.joints: Array = self._state.joints
        # A tick is one call; what does not fill a tick goes step by step.
        tick = min(round(bed.loop.period_s / self.step_s), _LONGEST)
        kernels = compile_functions("plant", stride_functions(bed, sorted({1, tick})))
        self._step, self._tick = (_Stride(kernels[f"plant_{steps}"], steps) for steps in (1, tick))
        self._steps = 0
        self._averaged = 1.0
        self._next = (1 - _ROUNDING) * self.step_s

    @property
    def t(self) -> float:
        """Time of the state [s]."""
        return self._steps * self.step_s

    @property
    def q(self) -> Array:
        """True coordinates (n_q)."""
        return self._state.q.copy()

    @property
    def u(self) -> Array:
        """True velocities (n_u)."""
        return self._state.u.copy()

    @property
    def thrust(self) -> Array:
        """Mean thrust delivered over the last advance (n_t) [N]."""
        pushed = self._state.pushed
        return pushed.copy() if self._averaged == 1.0 else pushed / self._averaged

    @property
    def impulse_left(self) -> float:
        """Impulse left in the tank [N s]; NaN without a tank."""
        return self._state.left.item()

    @property
    def impulse_used(self) -> float:
        """Impulse delivered by all thrusters so far [N s]."""
        return self._state.used.item()

    def advance(self, t: float) -> None:
        """Go on to the last physics step that is not after t; nothing happens if the plant is there."""
        if t < self._next:
            return
        first, last = self._steps, int(t / self.step_s + _ROUNDING)
        self._pushed_slot[:] = self._nothing_pushed
        while self._steps < last:
            self._go(self._tick if last - self._steps >= self._tick.steps else self._step)
        self._averaged = float(last - first)
        self._next = (last + 1 - _ROUNDING) * self.step_s

    def _go(self, stride: _Stride) -> None:
        last = self._steps + stride.steps
        thrust = self.thrusters.thrust(self._steps, last) if self.thrusters else stride.no_thrust
        torque = self.motors.torque if self.motors else stride.no_torque
        stride.fill((self._whole, thrust if thrust.ndim == 2 else thrust.tobytes() * stride.steps, torque))
        stride.evaluate()
        self._whole_slot[:] = stride.after
        self._steps = last
        for observer in self.observers:
            observer.observe(last, stride.path)


class _Stride:
    """So many steps of the plant in one call of compiled code."""

    def __init__(self, kernel: Kernel, steps: int) -> None:
        _, thrust, torque = kernel.inputs
        self.after, path = kernel.outputs
        self.steps = steps
        #: takes the state, full thrust in each step (steps, n_t) [N], and torque (n_m) [N m]
        self.fill, self.evaluate = kernel.fill, kernel.evaluate
        self.no_thrust, self.no_torque = np.zeros((steps, thrust.size // steps)), np.zeros(torque.size)
        #: [q; u] at the end of each step (steps, n_q + n_u)
        self.path: Array = path.reshape(-1, steps, order="F").T
