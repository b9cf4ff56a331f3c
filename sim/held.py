"""The plant under one set of closed contacts: its strides, and what the contacts feel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from granite.config.errors import PlantLostError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.mrds.compilation import compile_functions
from granite.mrds.contacts.contact_set import NO_FEEDBACK, SOUND, ContactSet, Label
from granite.mrds.kernel import Kernel
from granite.sim.equations import force_function, lab_function, step_function, stride_function
from granite.sim.motion import Motion, is_driven

#: contacts that are closed and farther apart than this are torn [m, rad]
TORN = 1e-2
#: the label of a plant without contacts
FREE = Label((), frozenset())


class Felt(NamedTuple):
    """What the contacts of a testbed feel; nothing of those that are open."""

    wrench: Array  #: (n_c d) by the first side on the second, at it, in world axes
    squeeze: Array  #: of each module between contacts: how much of their forces cancels [N, N m/m]
    gap: float  #: largest of all [m, rad]
    slip: float  #: largest of all [m/s, rad/s]
    independence: float  #: sine of the least angle of a constraint to the others


class Stride:
    """So many steps of the plant in one call of compiled code."""

    def __init__(self, kernel: Kernel, steps: int) -> None:
        before, thrust, torque = kernel.inputs
        after, path, self.independence, self.size = kernel.outputs
        self.steps = steps
        #: takes the state, full thrust in each step (steps, n_t) [N], and torque (n_m) [N m]
        self.fill, self.evaluate = kernel.fill, kernel.evaluate
        #: what was filled in, and the state afterwards
        self.before, self.torque, self.after = before, torque, after
        self.thrust: Array = thrust.reshape(-1, steps, order="F").T
        self.no_thrust = np.zeros((steps, thrust.size // steps))
        #: [q; u] at the end of each step (steps, n_q + n_u)
        self.path: Array = path.reshape(-1, steps, order="F").T


class Held:
    """The plant while these contacts are closed, everything compiled."""

    def __init__(self, bed: Testbed, contacts: ContactSet | None, tick: int) -> None:
        self._bed, self.contacts = bed, contacts
        self.label = contacts.label if contacts else FREE
        motion = Motion(bed, contacts)
        self._n_q, self._n_x, self._n_extra = motion.n_q, motion.n_q + motion.n_u, motion.n_extra
        self._is_driven, self._squeezed = is_driven(bed), bed.squeezed
        #: where the closed contacts stand among all
        self._closed = [i for i, contact in enumerate(bed.contacts) if contact.name in self.label.closed]
        one = step_function(bed, motion)  # of which every stride is made: it is compiled once
        functions = [stride_function(one, motion, steps) for steps in sorted({1, tick})]
        if contacts is not None:
            assembly = contacts.assembly
            functions += [force_function(bed, motion), lab_function(bed, motion)]
            functions += [assembly.borne, assembly.rate, assembly.normalised]
        kernels = compile_functions("plant", functions)
        self.step, self.tick = (Stride(kernels[f"plant_{steps}"], steps) for steps in (1, tick))
        self._kernels = kernels
        self._d = 3 if bed.planar else 6

    def unsound(self, stride: Stride) -> bool:
        """Whether constraints depended on each other on the way, so that the stride has to be taken in another way."""
        return self.contacts is not None and not stride.independence[0] > SOUND

    def walk(self, stride: Stride) -> None:
        """The same stride where constraints depend on each other: forces are then the smallest of all that do."""
        assert self.contacts is not None
        state = stride.before.copy()
        for k, thrust in enumerate(stride.thrust):
            try:
                state = self._stepped(self.contacts, state, thrust, stride.torque)
            except np.linalg.LinAlgError:  # what singular values are asked of numbers that are not finite
                state[: self._n_x] = np.nan
            self._refuse_torn(self.contacts, state)
            stride.path[k] = state[: self._n_x]
        stride.after[:], stride.size[:] = state, state[: self._n_x] @ state[: self._n_x]

    def settle(self, stride: Stride, q: Array, u: Array) -> None:
        """A stride of one step that ended otherwise, because contacts changed: tank and sensors follow that."""
        extra = stride.after[self._n_x : self._n_x + self._n_extra].copy()
        stride.after[:] = self._followed(stride.before, stride.thrust[0], (q, u, extra))
        stride.path[0] = stride.after[: self._n_x]

    def force(self, state: Array, thrust: Array, torque: Array) -> Array:
        """Generalised force of the lab on all modules, with this thrust of a full tank and these torques."""
        return self._kernels["plant_force"].call(state, thrust, torque)[0].copy()

    def feel(self, state: Array, thrust: Array, torque: Array) -> Felt:
        """What the contacts feel in a state, with this thrust of a full tank and these torques."""
        contacts = self.contacts
        wrench, squeeze = np.zeros(len(self._bed.contacts) * self._d), np.zeros(len(self._squeezed))
        if contacts is None or not contacts.contacts:
            return Felt(wrench, squeeze, 0.0, 0.0, 1.0)
        q, u = state[: self._n_q], state[self._n_q : self._n_x]
        drive = contacts.drive(self._time(state))
        moved = contacts.accelerate(q, u, self.force(state, thrust, torque), **drive._asdict())
        felt = self._kernels["borne"].call(q, u, drive.free_force, moved.force)[0]
        wrench.reshape(-1, self._d)[self._closed] = felt.reshape(-1, self._d)
        for i, module in enumerate(self._squeezed):
            squeeze[i] = np.linalg.norm(contacts.internal_force(module, q, moved.force))
        gap, slip = (float(np.abs(x).max(initial=0.0)) for x in contacts.errors(q, u, drive.velocity, drive.place))
        return Felt(wrench, squeeze, gap, slip, moved.independence)

    def _stepped(self, contacts: ContactSet, state: Array, thrust: Array, torque: Array) -> Array:
        """The step of `Motion`, its contacts solved by singular values."""
        simulation, n = self._bed.simulation, self._n_x + self._n_extra
        h, rates = simulation.physics_step_s, [np.zeros(n)]
        for part in (0.0, 0.5, 0.5, 1.0):
            at = state.copy()
            at[:n] += part * h * rates[-1]
            rates.append(self._rate(contacts, at, thrust, torque))
        x = state[:n] + h / 6 * np.array([1, 2, 2, 1]) @ np.array(rates[1:])
        q, u, extra = np.split(x, [self._n_q, self._n_x])
        q = self._kernels["normalised"].call(q)[0].copy()
        if simulation.drift.cure == "projection":
            drive = contacts.drive(self._time(x))
            q, u = contacts.project(q, u, drive.velocity, drive.place)
        return self._followed(state, thrust, (q, u, extra))

    def _rate(self, contacts: ContactSet, state: Array, thrust: Array, torque: Array) -> Array:
        """q', u' and the rate of extra, in which the contacts have their share of the power."""
        q, u, drift = state[: self._n_q], state[self._n_q : self._n_x], self._bed.simulation.drift
        feedback = (drift.damping_1_s, drift.stiffness_1_s2) if drift.cure == "feedback" else NO_FEEDBACK
        force, extra_rate = self._kernels["plant_force"].call(state, thrust, torque)
        drive = contacts.drive(self._time(state))
        moved = contacts.accelerate(q, u, force, **drive._asdict(), feedback=feedback)
        rate = np.concatenate([self._kernels["rate"].call(q, u)[0], moved.acceleration, extra_rate])
        if self._bed.simulation.audit:
            rate[-1] += self._kernels["borne"].call(q, u, drive.free_force, moved.force)[1][0]
        return rate

    def _refuse_torn(self, contacts: ContactSet, state: Array) -> None:
        """Raise where contacts that are closed are apart: what moves them asks for more than the modules can do."""
        q, u, drive = state[: self._n_q], state[self._n_q : self._n_x], contacts.drive(self._time(state))
        gap = np.abs(contacts.errors(q, u, drive.velocity, drive.place)[0])
        for name, rows in contacts.rows.items():
            if gap[rows].max(initial=0.0) > TORN:
                raise PlantLostError(
                    f"contact '{name}' is closed, but its sides are {gap[rows].max():.3g} m or rad apart"
                )

    def _followed(self, state: Array, thrust: Array, motion: tuple[Array, Array, Array]) -> Array:
        """The state after a step that ended in this motion."""
        return self._kernels["plant_lab"].call(state, thrust, np.concatenate(motion))[0].copy()

    def _time(self, state: Array) -> float:
        """Of the state, where contacts are driven by it [s]."""
        return float(state[self._n_x]) if self._is_driven else 0.0
