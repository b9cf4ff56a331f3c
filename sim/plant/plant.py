"""The plant: the modules on the table, joined by contacts, driven by thrusters and motors, in fixed physics steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import numpy as np

from granite.config.devices.device import Device
from granite.config.devices.motors import Motors
from granite.config.devices.thrusters import Thrusters
from granite.config.errors import PlantLostError
from granite.config.records import Array
from granite.config.start import initial_motion
from granite.config.testbed import Testbed
from granite.kernels.compiled_form import CompiledForm
from granite.mrds.contacts.contact_set import ContactSet, Label
from granite.mrds.flexible.deflection import Deflections
from granite.mrds.start import consistent_start
from granite.mrds.tolerances import ELIMINATION_SINE_SQUARED, SAME_STEP
from granite.sim.devices.device import AbsentDevice
from granite.sim.plant.collisions import collision_function
from granite.sim.plant.constrained_plant import FREE, ConstrainedPlant, ContactLoads, StepKernel
from granite.sim.plant.contacts import Contacts
from granite.sim.plant.draws import drawn
from granite.sim.plant.equations import PlantState, initial_state
from granite.sim.plant.forces import n_held
from granite.sim.plant.joint_resistance import refuse_stiff_joints
from granite.sim.plant.motor_torque import refuse_stiff_gears
from granite.sim.plant.soft_grips import refuse_stiff_grips
from granite.sim.plant.start import refuse_entered, refuse_overlap, refuse_unstable_step
from granite.sim.plant.table_forces import refuse_stiff_pads

_LONGEST = 50  #: steps in one call of compiled code: each lengthens the code


class ThrustSource(Protocol):
    """A device of thrusters."""

    def thrust(self, first: int, last: int) -> Array:
        """Mean thrust of its thrusters with a full tank in the physics steps after `first` up to `last` [N].

        One row for each step, or a single one if they are all the same. Every step is requested once, in order.
        """


class TorqueSource(Protocol):
    """A device of motors."""

    torque: Array  #: of each [N m]


class Observer(Protocol):
    """Receives every step of the motion, not only the state at the ticks."""

    def observe(self, last: int, path: Array) -> None:
        """The true [q; u] at the end of some steps, one row each, up to step `last`; valid during the call only."""


class Plant:
    """The true motion of all modules.

    The lab builds the simulated devices, which attach themselves as sources and observers. Without sources there is no
    force.
    """

    def __init__(self, bed: Testbed) -> None:
        self.bed = bed
        self.step_s = bed.simulation.physics_step_s
        self.observers: list[Observer] = []
        #: called with the time to which the plant is about to move: inputs that are known only afterwards
        self.pulls: list[Callable[[float], object]] = []
        self._thrusters, self._motors = list(bed.devices_of(Thrusters).values()), list(bed.devices_of(Motors).values())
        #: of each device in the order of the testbed, which is the order of their thrusts and torques
        self.thrust_sources: list[ThrustSource] = [AbsentDevice(len(device.units)) for device in self._thrusters]
        self.torque_sources: list[TorqueSource] = [AbsentDevice(len(device.units)) for device in self._motors]
        #: forces on bodies by timed events, as `forces.pushed_bodies` has them
        self.pushes: Array = np.zeros(n_held(bed) - len(bed.motors))
        #: None if the testbed has none
        self.contacts = Contacts(bed) if bed.contacts else None
        # A tick is one call of compiled code; the rest of an interval is done step by step, and so is everything where
        # contacts change by themselves, because every step has to be checked.
        watched = self.contacts is not None and self.contacts.watches
        tick = 1 if watched else min(round(bed.loop.period_s / self.step_s), _LONGEST)
        #: every set of contacts that commands and physics can reach, compiled before the run
        self._sets = {
            held.label: held
            for held in (self.contacts.held(tick) if self.contacts else [ConstrainedPlant(bed, None, tick)])
        }
        self._prepared: list[ConstrainedPlant] = []
        self._held = self._sets[self.contacts.label if self.contacts else FREE]
        q, u = consistent_start(bed, self._held.contacts, *initial_motion(bed))
        if self.contacts:
            refuse_entered(bed, self.contacts.entered(q))
        refuse_overlap(bed, collision_function(bed), q)
        refuse_unstable_step(bed, self.contacts.sets() if self.contacts else (), q)
        refuse_stiff_joints(bed, q)
        refuse_stiff_gears(bed, q)
        refuse_stiff_pads(bed)
        refuse_stiff_grips(bed, self.contacts.sets() if self.contacts else (), q)
        start = initial_state(bed, q, u)
        self._whole = np.concatenate(start)
        ends = np.cumsum([0, *(len(part) for part in start)]).tolist()
        parts = PlantState(*(slice(first, last) for first, last in pairwise(ends)))
        self._parts, self._shown = parts, (parts.q, parts.u, parts.left, parts.pushed)
        #: where each part begins in the whole state
        self.offsets = dict(zip(PlantState._fields, ends, strict=False))
        #: views of the whole state, part by part
        self._state: PlantState[Array] = PlantState(*(self._whole[part] for part in parts))
        #: the contact sets with redundant constraints, and the pose where that was first found
        self.dependent: dict[Label, tuple[ContactSet, Array]] = {}
        self._deflections = Deflections(bed)
        self._steps, self._last = 0, self._held.step
        #: loads of the contacts, and the step and the plant for which they were computed
        self._loads: tuple[int, ConstrainedPlant, ContactLoads] | None = None
        self._averaged = 1.0
        self._next = (1 - SAME_STEP) * self.step_s

    def compiled_form(self) -> CompiledForm:
        """The same in C, to be asked for at the start; `PlantInPython` does what it leaves to Python."""
        sets, contacts, held = self.every_set, self.contacts, self._held
        counts = [len(of_set.closed) for of_set in sets]
        return CompiledForm(
            tuple(Path(__file__).with_name(name) for name in ("plant.c", "actuators.c")),
            {
                "PLANT_STATE": len(self._whole),
                "PLANT_PATH": len(self._state.q) + len(self._state.u),
                "PLANT_TICK": held.tick.steps,
                "PLANT_PUSHED": self.offsets["pushed"],
                "PLANT_TANK": self.offsets["left"],
                "PLANT_TORQUES": held.step.no_torque.size,
                "SAME_STEP": SAME_STEP,
                "PLANT_CONTACTS": len(self.bed.contacts),
                "PLANT_WRENCH": held.n_wrench,
                "PLANT_SQUEEZE": len(self.bed.squeezed),
                "PLANT_INDEPENDENT": ELIMINATION_SINE_SQUARED,
                "PLANT_IS_WATCHED": int(contacts is not None and contacts.watches),
                "PLANT_STRUCK": self.offsets["struck"],
                "PLANT_PAIRS": len(self._state.struck) // 3,
                "PLANT_BENDS": int(bool(self._deflections.links)),
            },
            {
                "PLANT_CLOSED": [i for of_set in sets for i in of_set.closed],
                "PLANT_CLOSED_COUNT": counts,
                "PLANT_CLOSED_FIRST": np.cumsum([0, *counts[:-1]]).tolist(),
            },
            parameters={"physics_step": np.array([self.step_s])},
            memory={
                "plant_state": self._whole.copy(),
                "plant_steps": np.zeros(1),
                "plant_first": np.zeros(1),
                "plant_averaged": np.array([self._averaged]),
                "plant_next": np.array([self._next]),
                "plant_last_thrust": np.zeros(held.step.no_thrust.size),
                "plant_last_torque": held.step.no_torque.copy(),
                "plant_set": np.array([float(sets.index(held))]),
                "plant_switches": np.zeros(1),
                "plant_closed": np.array(contacts.closed if contacts else (), dtype=float),
                "plant_caught": np.zeros(len(self.bed.contacts)),
                "plant_lost": np.zeros(1),
                "plant_wrench": np.zeros(held.n_wrench * len(self.bed.contacts)),
                "plant_squeeze": np.zeros(len(self.bed.squeezed)),
                "plant_errors": np.array([0.0, 0.0, 1.0]),
            },
            kernels={
                "plant_step": [of_set.step.kernel for of_set in sets],
                "plant_tick": [of_set.tick.kernel for of_set in sets],
                "plant_loads": [of_set.loads_kernel for of_set in sets],
                "plant_bend": [self._deflections.kernel() if self._deflections.links else None],
            },
        )

    def draw(self, seed: int, whole: Array) -> None:
        """Put what this seed draws into the whole state of a plant at its start."""
        whole[self._parts.drawn] = drawn(self.bed, seed)

    @property
    def every_set(self) -> list[ConstrainedPlant]:
        """The plant under every set of contacts, and with other modules that it may continue with."""
        return [*self._sets.values(), *self._prepared]

    @property
    def t(self) -> float:
        """Time of the state [s]."""
        return self._steps * self.step_s

    def snapshot(self) -> tuple[Array, Array, Array, Array]:
        """q, u, mean thrust since the last advance, and impulse left; copies, which later steps do not change."""
        whole, (q, u, left, pushed) = self._whole.copy(), self._shown
        thrust = whole[pushed]
        return whole[q], whole[u], thrust if self._averaged == 1.0 else thrust / self._averaged, whole[left]

    @property
    def struck(self) -> Array:
        """Of each pair that can collide: impulse so far [N s], then speed at the last touch [m/s]."""
        n = len(self._state.struck) // 3
        return self._state.struck[: 2 * n].copy()

    @property
    def q(self) -> Array:
        """True coordinates (n_q)."""
        return self._state.q.copy()

    @property
    def u(self) -> Array:
        """True velocities (n_u)."""
        return self._state.u.copy()

    @property
    def joints(self) -> Array:
        """The sensed joints: true angles [rad], then rates behind their filters [rad/s] (2 n_s).

        A live view: copy it before the next advance.
        """
        return self._state.joints

    @property
    def thrust(self) -> Array:
        """Mean thrust delivered over the last advance (n_t) [N]."""
        return self._state.pushed / self._averaged

    @property
    def constants(self) -> Array:
        """Constants that the seed drew; a live view."""
        return self._state.drawn

    @property
    def impulse_left(self) -> Array:
        """Impulse left in the tank of each device of thrusters [N s]; NaN without a tank."""
        return self._state.left.copy()

    @property
    def impulse_used(self) -> float:
        """Impulse delivered by all thrusters so far [N s]."""
        return self._state.used.item()

    @property
    def work(self) -> float:
        """Work done by the lab so far, less the dissipation [J]; of an audited testbed."""
        return float(self._state.extra[-1])

    @property
    def whole(self) -> Array:
        """The whole state; a live view."""
        return self._whole

    def attach_thrusters(self, table: Thrusters, source: ThrustSource) -> None:
        """Let a simulated device of thrusters act; `table` is its own in the plant's testbed."""
        self.thrust_sources[_index_of(self._thrusters, table)] = source

    def attach_motors(self, table: Motors, source: TorqueSource) -> None:
        """Let a simulated device of motors act; `table` is its own in the plant's testbed."""
        self.torque_sources[_index_of(self._motors, table)] = source

    def contact_loads(self) -> ContactLoads:
        """Loads of the contacts now; computed once for all that ask between two steps."""
        if self._loads is None or self._loads[:2] != (self._steps, self._held):
            loads = self._held.contact_loads(self._whole, *self._inputs_of_last_step())
            self._loads = self._steps, self._held, loads
        return self._loads[2]

    def advance(self, t: float) -> None:
        """Advance to the last physics step that is not after t; nothing happens if the plant is there already."""
        if t < self._next:
            return
        for pull in self.pulls:
            pull(t)
        self._state.pushed[:] = 0.0
        self._finish(self._steps, t)

    def _finish(self, first: int, t: float) -> None:
        """The steps that are left of an advance to time t, which began at step `first`."""
        last = int(t / self.step_s + SAME_STEP)
        while self._steps < last:
            if self.contacts:
                self._switch_contacts(self.contacts)
            held = self._held
            self._go(held.tick if last - self._steps >= held.tick.steps else held.step)
        self._refuse_folded()
        self._averaged = float(last - first)
        self._next = (last + 1 - SAME_STEP) * self.step_s

    def prepared(self, bed: Testbed) -> ConstrainedPlant:
        """The plant with other modules of the same coordinates and without contacts, compiled, for `change`."""
        self._prepared.append(ConstrainedPlant(bed, None, self._held.tick.steps))
        return self._prepared[-1]

    def change(self, held: ConstrainedPlant) -> None:
        """Continue with other modules; coordinates and velocities stay."""
        self._held = held

    def _go(self, stride: StepKernel) -> None:
        last = self._steps + stride.steps
        thrust = _joined([source.thrust(self._steps, last) for source in self.thrust_sources], stride)
        torque = [source.torque for source in self.torque_sources]
        stride.run((self._whole, thrust, *torque, self.pushes))
        if self.contacts and self._held.needs_svd(stride):
            self._note_dependent()
            self._held.step_by_svd(stride)
        if not stride.size[0] < np.inf:
            after = f"{last * self.step_s:.6g} s; steps may be too long"
            raise PlantLostError(f"its motion is not finite after {after}")
        self._last = stride
        if self.contacts and self.contacts.watches:
            self._settle(self.contacts, stride)
        self._whole[:] = stride.after
        self._steps = last
        for observer in self.observers:
            observer.observe(last, stride.path)

    def _refuse_folded(self) -> None:
        """Raise where a link is bent by more than its length, which no beam can be."""
        if self._deflections.links:
            deflection = self._deflections(self._state.q)
            i = int(np.argmax(deflection))
            if deflection[i] > 1:
                link, ratio = self._deflections.links[i], deflection[i]
                raise PlantLostError(f"flexible link '{link}' is bent by {ratio:.3g} of its length")

    def _note_dependent(self) -> None:
        contacts = self._held.contacts
        if contacts is not None:
            self.dependent.setdefault(contacts.label, (contacts, self.q))

    def _switch_contacts(self, contacts: Contacts) -> None:
        """Close and open contacts as commanded."""
        self._state.q[:], self._state.u[:] = contacts.command(self._state.q, self._state.u)
        self._held = self._sets[contacts.label]

    def _settle(self, contacts: Contacts, stride: StepKernel) -> None:
        """Contact events of physics after a step: stops touch and lift, friction sticks and slips."""
        held, n_q = self._held, len(self._state.q)
        q, u = stride.path[0, :n_q], stride.path[0, n_q:]
        force = held.force(stride.after, *self._inputs_of_last_step())

        def move(active: ContactSet, q: Array, u: Array, h: float) -> tuple[Array, Array, float]:
            return self._sets[active.label].moved(stride, q, u, h)

        held.settle(stride, *contacts.settle(q, u, force, self.step_s, move))
        self._held = self._sets[contacts.label]

    def _inputs_of_last_step(self) -> tuple[Array, Array]:
        """Thrust with a full tank and torques of the last step."""
        return self._last.thrust[-1], self._last.torque


def _index_of(devices: Sequence[Device], table: Device) -> int:
    """Index of the device by identity: two of them may have the same values."""
    return next(i for i, device in enumerate(devices) if device is table)


def _joined(thrusts: list[Array], stride: StepKernel) -> Array | bytes:
    """The thrust of all devices in each step of a stride, as its kernel takes them: step after step."""
    if not thrusts:
        return stride.no_thrust
    if len(thrusts) == 1:
        thrust = thrusts[0]
        return thrust if thrust.ndim == 2 else thrust.tobytes() * stride.steps
    rows = [np.broadcast_to(thrust, (stride.steps, thrust.shape[-1])) for thrust in thrusts]
    return np.ascontiguousarray(np.hstack(rows))
