"""The plant: the modules on the granite, joined by contacts, pushed by thrusters and motors, in fixed steps."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from granite.config.errors import PlantLostError
from granite.config.records import Array
from granite.config.start import initial_motion
from granite.config.testbed import Testbed
from granite.mrds.contacts.contact_set import ContactSet, Label
from granite.mrds.start import consistent_start
from granite.mrds.tolerances import SAME_STEP
from granite.sim.constrained_plant import FREE, ConstrainedPlant, ContactLoads, StepKernel
from granite.sim.contacts import Contacts
from granite.sim.equations import PlantState, initial_state
from granite.sim.motion import n_extra
from granite.sim.start import refuse_entered, refuse_unstable_step

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
        #: if the testbed has any
        self.contacts = Contacts(bed) if bed.contacts else None
        # A tick is one call; what does not fill a tick goes step by step, and so does all where contacts change by
        # themselves: every step has to be looked at.
        watched = self.contacts is not None and self.contacts.watches
        tick = 1 if watched else min(round(bed.loop.period_s / self.step_s), _LONGEST)
        #: every set of contacts that commands and physics can reach, compiled before the run
        self._sets = {
            held.label: held
            for held in (self.contacts.held(tick) if self.contacts else [ConstrainedPlant(bed, None, tick)])
        }
        self._held = self._sets[self.contacts.label if self.contacts else FREE]
        q, u = consistent_start(bed, self._held.contacts, *initial_motion(bed))
        if self.contacts:
            refuse_entered(bed, self.contacts.entered(q))
        refuse_unstable_step(bed, self.contacts.sets() if self.contacts else (), q)
        start = initial_state(bed, q, u, n_extra(bed))
        self._whole = np.concatenate(start)
        self._whole_slot: Any = self._whole.data
        #: views of the whole state, part by part
        self._state: PlantState[Array] = PlantState(
            *np.split(self._whole, np.cumsum([len(part) for part in start])[:-1])
        )
        self._pushed_slot: Any = self._state.pushed.data
        self._nothing_pushed = np.zeros(len(start.pushed))
        #: q and u as they are now: views that go on moving, for who copies at once
        self.live: tuple[Array, Array] = self._state.q, self._state.u
        #: the sensed joints: true angles [rad], then rates behind their filters [rad/s] (2 n_s); a view, too
        self.joints: Array = self._state.joints
        #: the sets in which constraints were found to depend on each other, and the pose where that was first seen
        self.dependent: dict[Label, tuple[ContactSet, Array]] = {}
        self._steps, self._last = 0, self._held.step
        self._averaged = 1.0
        self._next = (1 - SAME_STEP) * self.step_s

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
        return self.now()[3].copy()

    @property
    def impulse_left(self) -> float:
        """Impulse left in the tank [N s]; NaN without a tank."""
        return self.now()[4]

    @property
    def impulse_used(self) -> float:
        """Impulse delivered by all thrusters so far [N s]."""
        return self._state.used.item()

    @property
    def work(self) -> float:
        """Work done by the lab so far, less what damping took [J]; of an audited testbed."""
        return float(self._state.extra[-1])

    def now(self) -> tuple[float, Array, Array, Array, float]:
        """Time, q, u, thrust and impulse left in one go; the arrays go on moving, for who copies at once."""
        (q, u), pushed, averaged = self.live, self._state.pushed, self._averaged
        thrust = pushed if averaged == 1.0 else pushed / averaged
        return self._steps * self.step_s, q, u, thrust, self._state.left.item()

    def contact_loads(self) -> ContactLoads:
        """Loads of the contacts now."""
        return self._held.contact_loads(self._whole, *self._pushed_by())

    def advance(self, t: float) -> None:
        """Go on to the last physics step that is not after t; nothing happens if the plant is there."""
        if t < self._next:
            return
        first, last = self._steps, int(t / self.step_s + SAME_STEP)
        self._pushed_slot[:] = self._nothing_pushed
        while self._steps < last:
            if self.contacts:
                self._take_hold(self.contacts)
            held = self._held
            self._go(held.tick if last - self._steps >= held.tick.steps else held.step)
        self._averaged = float(last - first)
        self._next = (last + 1 - SAME_STEP) * self.step_s

    def _go(self, stride: StepKernel) -> None:
        last = self._steps + stride.steps
        thrust = self.thrusters.thrust(self._steps, last) if self.thrusters else stride.no_thrust
        torque = self.motors.torque if self.motors else stride.no_torque
        stride.run((self._whole, thrust if thrust.ndim == 2 else thrust.tobytes() * stride.steps, torque))
        if self.contacts and self._held.needs_svd(stride):
            self._note_dependent()
            self._held.step_by_svd(stride)
        if not stride.size[0] < np.inf:
            raise PlantLostError(f"its motion is not finite after {last * self.step_s:.6g} s; steps may be too long")
        self._last = stride
        if self.contacts and self.contacts.watches:
            self._settle(self.contacts, stride)
        self._whole_slot[:] = stride.after
        self._steps = last
        for observer in self.observers:
            observer.observe(last, stride.path)

    def _note_dependent(self) -> None:
        contacts = self._held.contacts
        if contacts is not None:
            self.dependent.setdefault(contacts.label, (contacts, self.q))

    def _take_hold(self, contacts: Contacts) -> None:
        """Take hold and let go as told."""
        self._state.q[:], self._state.u[:] = contacts.command(*self.live)
        self._held = self._sets[contacts.label]

    def _settle(self, contacts: Contacts, stride: StepKernel) -> None:
        """Let stops touch and lift, and what rubs stick and slip."""
        held, n_q = self._held, len(self._state.q)
        q, u = stride.path[0, :n_q], stride.path[0, n_q:]
        held.settle(stride, *contacts.settle(q, u, held.force(stride.after, *self._pushed_by()), self.step_s))
        self._held = self._sets[contacts.label]

    def _pushed_by(self) -> tuple[Array, Array]:
        """Thrust with a full tank and torques of the last step."""
        return self._last.thrust[-1], self._last.torque
