"""The plant under one set of closed contacts: its physics steps, and the loads of its contacts."""

from __future__ import annotations

import math
from typing import NamedTuple

import casadi as ca
import numpy as np

from granite.config.errors import PlantLostError
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.kernels.compilation import compile_once
from granite.kernels.kernel import Kernel
from granite.mrds.contacts.contact_set import ContactSet, Drive, Label
from granite.mrds.tolerances import ELIMINATION_SINE_SQUARED, TORN_GAP
from granite.sim.plant.equations import (
    force_function,
    lab_function,
    loads_function,
    part_function,
    step_function,
    stride_function,
)
from granite.sim.plant.motion import ContactMotion, PlantMotion, is_driven

#: the label of a plant without contacts
FREE = Label((), frozenset())


class ContactLoads(NamedTuple):
    """Loads and errors of the contacts of a testbed; zero for open ones."""

    wrench: Array  #: (n_c d) by the first side on the second, at it, in world axes
    squeeze: Array  #: norm of the internal force of each module between contacts [N, N m/m]
    gap: float  #: largest of all [m, rad]
    slip: float  #: largest of all [m/s, rad/s]
    independence: float  #: sine of the smallest angle of a constraint to the others


class StepKernel:
    """A number of physics steps in one call of compiled code.

    `run` takes the state, the thrust with a full tank in each step (steps, n_t) [N], and the torques (n_m) [N m].
    Inputs and results are in the kernel's own memory until the next call.
    """

    def __init__(self, kernel: Kernel, steps: int) -> None:
        self.kernel = kernel
        self.before, thrust, self.torque = kernel.inputs
        #: the state after the steps; smallest independence of the constraints; sum of squares of the last [q; u]
        self.after, path, self.independence, self.size = kernel.outputs
        self.steps, self.run = steps, kernel.run_in_place
        self.thrust: Array = thrust.reshape(-1, steps, order="F").T
        self.no_thrust, self.no_torque = np.zeros((steps, thrust.size // steps)), np.zeros(self.torque.size)
        #: [q; u] at the end of each step (steps, n_q + n_u)
        self.path: Array = path.reshape(-1, steps, order="F").T


class SvdMotion(ContactMotion):
    """The equations in numbers, contact forces by singular values where elimination loses digits.

    The inputs p of a step are the state before it, the thrust with a full tank, and the torques.
    """

    def __init__(self, bed: Testbed, contacts: ContactSet, kernels: dict[str, Kernel]) -> None:
        super().__init__(bed)
        self._contacts, self._kernels, self._is_driven = contacts, kernels, is_driven(bed)
        self._n_q, self._n_x = len(bed.positions), len(bed.positions) + len(bed.velocities)

    def parts(self, x: Array) -> tuple[Array, Array, Array]:
        """q, u and extra."""
        return x[: self._n_q], x[self._n_q : self._n_x], x[self._n_x :]

    def stacked(self, *parts: Array) -> Array:
        """One column of several."""
        return np.concatenate(parts)

    def force(self, q: Array, u: Array, extra: Array, p: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """Generalised force of the lab, and its part of the rate of extra."""
        (state, thrust, torque), kernel = p, self._kernels["plant_force"]
        at = np.concatenate([q, u, extra, state[self._n_x + extra.size :]])
        force, extra_rate = kernel.split(kernel.run((at, thrust, torque)))
        return force, extra_rate

    def drive(self, extra: Array) -> Drive:
        """At the time in extra."""
        return self._contacts.drive(float(extra[0]) if self._is_driven else 0.0)

    def accelerate(self, q: Array, u: Array, force: Array, drive: tuple[Array, ...]) -> tuple[Array, Array]:
        """u' and constraint forces."""
        solution = self._contacts.accelerate(q, u, force, **Drive(*drive)._asdict(), feedback=self.gains)
        return solution.acceleration, solution.force

    def contact_power(self, q: Array, u: Array, drive: tuple[Array, ...], holding: Array) -> Array:
        """Power of all contacts."""
        return self._kernels["loads"].run((q, u, drive[0], holding))[-1:]

    def plus_power(self, extra_rate: Array, power: Array) -> Array:
        """The rate of extra with the power of the contacts."""
        return np.concatenate([extra_rate[:-1], extra_rate[-1:] + power])

    def position_rate(self, q: Array, u: Array) -> Array:
        """q'."""
        return self._contacts.rate(q, u)

    def normalised(self, q: Array) -> Array:
        """q with every quaternion normalised."""
        return self._contacts.normalised(q)

    def project(self, q: Array, u: Array, drive: tuple[Array, ...]) -> tuple[Array, Array]:
        """By Newton steps."""
        return self._contacts.project(q, u, drive[1], drive[3])


class ConstrainedPlant:
    """The plant while these contacts are closed, everything compiled."""

    def __init__(self, bed: Testbed, contacts: ContactSet | None, tick: int, watched: bool = False) -> None:
        self._bed, self.contacts = bed, contacts
        self.label = contacts.label if contacts else FREE
        motion = PlantMotion(bed, contacts)
        self._n_q, self._n_x = motion.n_q, motion.n_q + motion.n_u
        self._n = self._n_x + motion.n_extra
        self._squeezed = bed.squeezed
        #: indices of the closed contacts among all
        self.closed = [i for i, contact in enumerate(bed.contacts) if contact.name in self.label.closed]

        label = self.label.closed, sorted(self.label.slipping)
        key = bed.plant_fingerprint and f"{bed.plant_fingerprint} {label} {tick}"

        def write() -> list[ca.Function]:
            # Called in the functions of several steps: their code is compiled once.
            part = part_function(bed, motion)
            one = step_function(bed, motion, part)
            functions = [stride_function(one, motion, steps) for steps in sorted({1, tick})]
            if watched:
                functions.append(part)
            if contacts is not None:
                functions += [force_function(bed, motion), lab_function(bed, motion), contacts.assembly.loads]
                if contacts.contacts:
                    functions.append(loads_function(bed, motion, contacts))
            return functions

        kernels = compile_once("plant", key, write)
        self.step, self.tick = (StepKernel(kernels[f"plant_{steps}"], steps) for steps in (1, tick))
        self._kernels = kernels
        self._svd = SvdMotion(bed, contacts, kernels) if contacts is not None else None
        #: components of the wrench of a contact
        self.n_wrench = 3 if bed.planar else 6

    @property
    def loads_kernel(self) -> Kernel | None:
        """(state, thrust, torque) -> loads of the closed contacts, as in `contact_loads`; None without contacts."""
        return self._kernels.get("plant_loads")

    def needs_svd(self, steps: StepKernel) -> bool:
        """Whether constraints depended on each other on the way, so that elimination lost digits."""
        return self.contacts is not None and not steps.independence[0] > ELIMINATION_SINE_SQUARED

    def step_by_svd(self, steps: StepKernel) -> None:
        """The same steps again, with the constraint forces of least norm by singular values."""
        assert self._svd is not None
        state = steps.before.copy()
        for k, thrust in enumerate(steps.thrust):
            inputs = state, thrust, steps.torque
            try:
                x = self._svd.step(state[: self._n], inputs, self._bed.simulation.physics_step_s)
                state = self._followed(state, thrust, x)
            except np.linalg.LinAlgError:  # singular values of numbers that are not finite
                state[: self._n_x] = np.nan
            self._refuse_torn(self._svd, state)
            steps.path[k] = state[: self._n_x]
        steps.after[:], steps.size[:] = state, state[: self._n_x] @ state[: self._n_x]

    def settle(self, steps: StepKernel, q: Array, u: Array, work: float) -> None:
        """Replace the result of one step, because contacts changed in it: tank and sensors follow the new motion.

        `work` is that of the new motion less that of the old one [J].
        """
        extra = steps.after[self._n_x : self._n]
        if self._bed.simulation.audit:
            extra[-1] += work
        steps.after[:] = self._followed(steps.before, steps.thrust[0], np.concatenate([q, u, extra]))
        steps.path[0] = steps.after[: self._n_x]

    def moved(self, steps: StepKernel, q: Array, u: Array, h: float) -> tuple[Array, Array, float]:
        """q and u after a part h of one step, which may be negative, under its forces; and their work [J]."""
        assert self._svd is not None
        kernel, x = self._kernels["plant_part"], np.concatenate([q, u, steps.after[self._n_x : self._n]])
        if self._bed.simulation.audit:
            x[-1] = 0.0
        inputs = steps.before, steps.thrust[0], steps.torque
        after, independence = kernel.split(kernel.run((*inputs, x, np.array(h))))
        if not independence[0] > ELIMINATION_SINE_SQUARED:
            after = self._svd.step(x, inputs, h)
        q, u, extra = self._svd.parts(after)
        return q, u, float(extra[-1]) if self._bed.simulation.audit else 0.0

    def force(self, state: Array, thrust: Array, torque: Array) -> Array:
        """Generalised force of the lab on all modules (n_u), with this thrust of a full tank and these torques."""
        kernel = self._kernels["plant_force"]
        return kernel.split(kernel.run((state, thrust, torque)))[0]

    def contact_loads(self, state: Array, thrust: Array, torque: Array) -> ContactLoads:
        """Loads of the contacts in a state, with this thrust of a full tank and these torques."""
        wrench, contacts = np.zeros((len(self._bed.contacts), self.n_wrench)), self.contacts
        if contacts is None or self._svd is None or not contacts.contacts:
            return ContactLoads(wrench.ravel(), np.zeros(len(self._squeezed)), 0.0, 0.0, 1.0)
        kernel = self._kernels["plant_loads"]
        closed, squeeze, errors = kernel.split(kernel.run((state, thrust, torque)))
        gap, slip, sine_squared = errors.tolist()
        if sine_squared > ELIMINATION_SINE_SQUARED:
            independence = math.sqrt(sine_squared)
        else:
            closed, squeeze, independence = self._loads_by_svd(contacts, self._svd, state, thrust, torque)
        wrench[self.closed] = closed.reshape(-1, self.n_wrench)
        return ContactLoads(wrench.ravel(), squeeze, gap, slip, independence)

    def _loads_by_svd(
        self, contacts: ContactSet, svd: SvdMotion, state: Array, thrust: Array, torque: Array
    ) -> tuple[Array, Array, float]:
        """Wrench of each closed contact, internal forces and independence, where elimination loses digits."""
        q, u, extra = svd.parts(state[: self._n])
        drive = svd.drive(extra)
        solution = contacts.accelerate(q, u, self.force(state, thrust, torque), **drive._asdict())
        loads = self._kernels["loads"].run((q, u, drive.free_force, solution.force))
        squeeze = [np.linalg.norm(contacts.internal_force(module, q, solution.force)) for module in self._squeezed]
        return loads[:-1], np.array(squeeze), solution.independence

    def _refuse_torn(self, svd: SvdMotion, state: Array) -> None:
        """Raise where a closed contact has a large gap: the modules cannot follow its prescribed motion."""
        assert self.contacts is not None
        q, u, extra = svd.parts(state[: self._n])
        drive = svd.drive(extra)
        gap = np.abs(self.contacts.errors(q, u, drive.velocity, drive.displacement)[0])
        for name, rows in self.contacts.rows.items():
            if gap[rows].max(initial=0.0) > TORN_GAP:
                raise PlantLostError(
                    f"contact '{name}' is closed, but its sides are {gap[rows].max():.3g} m or rad apart"
                )

    def _followed(self, state: Array, thrust: Array, x: Array) -> Array:
        """The state after a step to x = [q; u; extra]: tank and filters follow."""
        return self._kernels["plant_lab"].run((state, thrust, x))
