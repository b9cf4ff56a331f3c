"""One contact set of a system as numbers: how it moves, how well it holds, and what taking hold does.

Letting go is choosing another set: velocities go on as they are. Taking hold is `catch`, an impulse.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granite.config.contacts import Contact
from granite.config.coordinates import velocities
from granite.config.errors import InputError, expected_one_of
from granite.config.modules import Module
from granite.mrds.compilation import compile_functions
from granite.mrds.contacts.assembly import Assembly, hubs
from granite.mrds.contacts.directions import DEPENDENT as DEPENDENT
from granite.mrds.contacts.directions import Directions
from granite.mrds.contacts.drive import drive_function
from granite.mrds.contacts.friction import magnitudes_by_trial
from granite.mrds.kernel import Array, Kernel

#: sine squared above which elimination keeps enough digits; below, the forces are found by singular values
SOUND = 1e-6
NO_FEEDBACK = (0.0, 0.0)
#: poses are projected until no gap is greater [m, rad]
CLOSED = 1e-12
#: forces with a lever shorter than this do not turn a module, per metre between them
NO_LEVER = 1e-6


class Motion(NamedTuple):
    """What a contact set makes of a state."""

    acceleration: Array  #: (n_u) of all modules
    force: Array  #: holding forces of all contacts, by E on P, in their order
    independence: float  #: sine of the least angle of a constraint to others; at most DEPENDENT: forces are not unique


class Impulse(NamedTuple):
    """What taking hold does."""

    u: Array  #: (n_u) velocities after
    impulse: Array  #: of all contacts, by E on P [N s, N m s]
    energy_lost: float  #: [J]


class Drive(NamedTuple):
    """What is done to the contacts of a set from outside, in their order."""

    free_force: Array  #: (n_free) F_u
    velocity: Array  #: (n_held) x'_c
    prescribed: Array  #: (n_held) x''_c
    place: Array  #: (n_held) x_c


class Label(NamedTuple):
    """Which contact set it is: sets with equal labels are equal."""

    closed: tuple[str, ...]
    slipping: frozenset[str]  #: those of them that slip under friction


class ContactSet:
    """Modules with these contacts closed, compiled at first use."""

    def __init__(
        self,
        modules: dict[str, Module],
        contacts: tuple[Contact, ...],
        planar: bool,
        slipping: frozenset[str] = frozenset(),
    ) -> None:
        self.modules, self.contacts, self.planar = modules, contacts, planar
        self.label = Label(tuple(c.name for c in contacts), slipping)
        self.assembly = Assembly(modules, contacts, planar, hubs(modules, contacts, planar, slipping), slipping)
        joined = self.assembly.joined
        self.n_held, self.n_free = joined.n_held, joined.n_free
        self.n_u = sum(len(velocities(m)) for m in modules.values())
        #: where the holding forces of each contact stand
        self.rows = _slices([j.n_held for j in joined.joints], [c.name for c in contacts])
        self._still = np.zeros(self.n_held)
        self._nothing = np.zeros(self.n_free), self._still, self._still, np.zeros(2), self._still

    def accelerate(
        self,
        q: ArrayLike,
        u: ArrayLike,
        force: ArrayLike,
        *,
        free_force: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        place: ArrayLike | None = None,
        feedback: tuple[float, float] = NO_FEEDBACK,
    ) -> Motion:
        """Accelerations and holding forces under a generalised force.

        `free_force` acts along the free modes of the contacts, by E on P (actuated contacts); `velocity` and
        `prescribed` are the velocity and acceleration demanded along their constrained modes (kinematic excitation),
        and `place` is where contacts with a motion are to be (all four as `drive` gives them);
        `feedback` pulls constraint errors back: x''_c gets -feedback[0] slip - feedback[1] gap.
        Raises `JammedError` where contacts slip and no single motion fits their friction.
        """
        # Where a contact is to be matters to the feedback alone.
        if free_force is None and velocity is None and prescribed is None and feedback == NO_FEEDBACK:
            acceleration, held, independence = self._kernels["accelerate"].call(q, u, force)
            if independence[0] > SOUND:
                return Motion(acceleration.copy(), held.copy(), math.sqrt(independence[0]))
        given = zip((free_force, velocity, prescribed, feedback, place), self._nothing, strict=True)
        return self._moved(q, u, force, tuple(no if x is None else x for x, no in given))

    def drive(self, t: ArrayLike) -> Drive:
        """What the configuration does to the contacts at a time [s]; one column for each of several times."""
        at = [[x.copy() for x in self._drive_kernel.call(time)] for time in np.atleast_1d(np.asarray(t, dtype=float))]
        return Drive(*at[0]) if np.ndim(t) == 0 else Drive(*(np.stack(x, axis=1) for x in zip(*at, strict=True)))

    def errors(
        self, q: ArrayLike, u: ArrayLike, velocity: ArrayLike | None = None, place: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Gap of the pose and slip of the velocity, for every constrained mode."""
        given = (self._still if x is None else x for x in (velocity, place))
        gap, slip = self._kernels["errors_at"].call(q, u, *given)
        return gap.copy(), slip.copy()

    def constraint_matrix(self, q: ArrayLike) -> Array:
        """A (n_held, n_u): slip = A u - velocity, and A^T takes holding forces to generalised ones."""
        return self.mass_and_constraints(q)[1].copy()

    def mass_and_constraints(self, q: ArrayLike) -> tuple[Array, Array]:
        """M of all modules, and A."""
        still = np.zeros(self.n_u)
        M, _, A, _ = self._dense.call(q, still, still, *self._nothing)
        return M.reshape(len(still), len(still)), A.reshape(self.n_held, len(still))

    def catch(self, q: ArrayLike, u: ArrayLike, restitution: float = 0.0) -> Impulse:
        """Take hold: an impulse ends every slip (restitution 0), or sends it back (1: no energy is lost)."""
        if not 0 <= restitution <= 1:
            raise InputError(f"restitution = {restitution:g}, expected a number from 0 to 1")
        before = np.asarray(u, dtype=float)
        slip = self.errors(q, before)[1]
        change, impulse = self.correct(q, -(1 + restitution) * slip)
        # 1/2 u^T M u before less after, with A du = -(1 + e) slip.
        return Impulse(before + change, impulse, float(-0.5 * (1 - restitution) * slip @ impulse))

    def project(
        self, q: ArrayLike, u: ArrayLike, velocity: ArrayLike | None = None, place: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """The state put back where its contacts hold: Newton steps, smallest in the metric of the masses, close the
        gaps, then the slip is taken out. Where no step makes the gaps smaller, the pose is the best one found."""
        pose, speed = np.array(q, dtype=float), np.array(u, dtype=float)
        gap, _ = self.errors(pose, speed, velocity, place)
        worst = _size(gap)
        while worst > CLOSED:
            change, _ = self.correct(pose, -gap)
            pose, gap, before = *self._nearer(pose, change, gap, place), worst
            worst = _size(gap)
            if worst >= before:
                break
        change, _ = self.correct(pose, -self.errors(pose, speed, velocity, place)[1])
        return pose, speed + change

    def carried(self, q: ArrayLike, way: ArrayLike) -> Array:
        """The pose after a small way along the velocities."""
        carried = np.asarray(q, dtype=float) + self._kernels["rate"].call(q, way)[0]
        return self._kernels["normalised"].call(carried)[0].copy()

    def internal_force(self, module: str, q: ArrayLike, force: ArrayLike) -> Array:
        """The part of the holding forces on a module that cancels: the squeeze.

        The module counts as frozen in its pose and cut loose from its base: joints and bending have no part in it.
        What is left of the forces by its contacts with others, once the smallest that push and turn it as much are
        taken out, neither accelerates it as a whole nor turns it. Moments are counted per metre.
        """
        if module not in self.modules:
            raise InputError(f"module '{module}', {expected_one_of(module, list(self.modules))}")
        G = self._kernels["grasps"].call(q)[list(self.modules).index(module)]
        squeeze, given = np.zeros(self.n_held), np.asarray(force, dtype=float)
        for contact in self.contacts:
            # What holds a module to itself cancels whatever it does, and says nothing of how others press on it.
            if (contact.first.module == module) != (contact.second.module == module):
                squeeze[self.rows[contact.name]] = given[self.rows[contact.name]]
        U, sizes, _ = np.linalg.svd(G, full_matrices=False)
        U = U[:, sizes > NO_LEVER * sizes.max(initial=0.0)]
        return squeeze - U @ (U.T @ squeeze)

    def rk4(
        self,
        q: ArrayLike,
        u: ArrayLike,
        force: ArrayLike,
        h: float,
        *,
        free_force: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        place: ArrayLike | None = None,
        feedback: tuple[float, float] = NO_FEEDBACK,
        project: bool = False,
    ) -> tuple[Array, Array]:
        """q and u after one Runge-Kutta step, as `accelerate` says; with `project`, put back where the contacts hold.

        What is done to the contacts is held over the step, or given in three columns: at its start, middle and end.
        """
        which = "rk4_projected" if project else "rk4"
        left_alone = free_force is None and velocity is None and prescribed is None and place is None
        left_alone = left_alone and feedback == NO_FEEDBACK
        if left_alone:
            q_after, u_after, independence = self._steps[which].call(q, u, force, h)
            if independence[0] > SOUND:
                return q_after.copy(), u_after.copy()
        given = free_force, velocity, prescribed, place
        sizes = (self.n_free, self.n_held, self.n_held, self.n_held)
        *drive, there = (_three_columns(x, n) for x, n in zip(given, sizes, strict=True))
        drive = [*drive, np.asarray(feedback), there]
        if not left_alone:
            q_after, u_after, independence = self._driven_steps[which].call(q, u, force, h, *drive)
            if independence[0] > SOUND:
                return q_after.copy(), u_after.copy()
        return self._rk4_by_stages(np.array(q, dtype=float), np.array(u, dtype=float), force, h, drive, project)

    def prepare(self, steps: bool = True) -> None:
        """Compile everything now, so that nothing is left to the loop; without `steps`, all but those of `rk4`.

        Driven steps are compiled where the configuration drives contacts.
        """
        _ = self._kernels, self._dense, self._drive_kernel
        if steps:
            _ = self._steps
        if steps and any(contact.motion.profiles or contact.force.profiles for contact in self.contacts):
            _ = self._driven_steps

    def _rk4_by_stages(
        self, q: Array, u: Array, force: ArrayLike, h: float, drive: list[Array], project: bool
    ) -> tuple[Array, Array]:
        """The same step where elimination is not good enough."""
        *columns, gains, place = drive
        rate, rates = self._kernels["rate"].call, [(np.zeros_like(q), np.zeros_like(u))]
        for column, part in ((0, 0.0), (1, 0.5), (1, 0.5), (2, 1.0)):
            at_q, at_u = q + part * h * rates[-1][0], u + part * h * rates[-1][1]
            motion = self._moved(at_q, at_u, force, (*(d[:, column] for d in columns), gains, place[:, column]))
            rates.append((rate(at_q, at_u)[0].copy(), motion.acceleration))
        weights = h / 6 * np.array([1, 2, 2, 1])
        q = q + weights @ np.array([r[0] for r in rates[1:]])
        u = u + weights @ np.array([r[1] for r in rates[1:]])
        q = self._kernels["normalised"].call(q)[0].copy()
        return self.project(q, u, columns[1][:, 2], place[:, 2]) if project else (q, u)

    def _moved(self, q: ArrayLike, u: ArrayLike, force: ArrayLike, drive: tuple[ArrayLike, ...]) -> Motion:
        acceleration, held, independence = self._kernels["driven_at"].call(q, u, force, *drive)
        if independence[0] > SOUND:
            return Motion(acceleration.copy(), held.copy(), math.sqrt(independence[0]))
        return self._rubbed(*_least_norm(*self._dense.call(q, u, force, *drive)))

    def _rubbed(self, accelerations: Array, forces: Array, independence: float) -> Motion:
        """The columns put together: without friction, and as much of each friction as there is."""
        rubs = self.assembly.joined.rubs
        if not rubs:
            return Motion(accelerations[:, 0], forces[:, 0], independence)
        normals = [rub.normal for rub in rubs]
        part = np.array([1.0, *magnitudes_by_trial(forces[normals, 0], forces[normals, 1:], rubs)])
        return Motion(accelerations @ part, forces @ part, independence)

    def correct(self, q: ArrayLike, y: Array) -> tuple[Array, Array]:
        """The smallest change of u that changes the constrained velocities by y, and its impulses."""
        change, impulse, independence = self._kernels["correct"].call(q, y)
        if independence[0] > SOUND:
            return change.copy(), impulse.copy()
        M, A = self.mass_and_constraints(q)
        change, impulse, _ = _least_norm(M, np.zeros(len(M)), A, y)
        return change[:, 0], impulse[:, 0]

    def _nearer(self, q: Array, change: Array, gap: Array, place: ArrayLike | None) -> tuple[Array, Array]:
        """A step along the change that makes the gaps smaller, halved as often as it takes; else no step."""
        still = np.zeros(len(change))
        for _ in range(10):
            stepped = self.carried(q, change)
            there = self.errors(stepped, still, None, place)[0]
            if _size(there) < _size(gap):
                return stepped, there
            change = change / 2
        return q, gap

    @cached_property
    def _kernels(self) -> dict[str, Kernel]:
        a = self.assembly
        functions = [a.accelerate(), a.driven_at, a.errors_at, a.correct, a.grasps, a.rate, a.normalised]
        return compile_functions("system", functions)

    @cached_property
    def _steps(self) -> dict[str, Kernel]:
        """For those who integrate: a controller does not, and need not wait for them."""
        a = self.assembly
        return compile_functions("system_steps", [a.rk4("rk4", project=False), a.rk4("rk4_projected", project=True)])

    @cached_property
    def _driven_steps(self) -> dict[str, Kernel]:
        """For those who do something to the contacts while they integrate."""
        a = self.assembly
        functions = [a.rk4_driven("rk4", project=False), a.rk4_driven("rk4_projected", project=True)]
        return compile_functions("system_driven_steps", functions)

    @cached_property
    def _drive_kernel(self) -> Kernel:
        """Too small to be worth compiling."""
        return Kernel(drive_function(self.contacts, self.planar, self.label.slipping))

    @cached_property
    def _dense(self) -> Kernel:
        every = Assembly(self.modules, self.contacts, self.planar, set(self.modules), self.label.slipping)
        return compile_functions("system_dense", [every.dense()])["dense"]


def _least_norm(M: Array, f: Array, A: Array, y: Array) -> tuple[Array, Array, float]:
    """M u' = f + A^T F with A u' = y, column by column: of all such F the smallest, each measured by how far it alone
    would move its contact; u', F and the independence of the constraints.
    """
    f, y = f.reshape(len(f), -1), y.reshape(len(y), -1)
    alone = Directions.of(M.reshape(len(f), len(f)), A.reshape(len(y), len(f)))
    free = np.linalg.solve(alone.L, f)
    used = alone.sines > DEPENDENT * alone.sines.max(initial=0.0)
    U, V, across, unit = alone.U[:, used], alone.V[used], alone.sines[used][:, None], alone.unit[:, None]
    along = (V @ (unit * (y - alone.B.T @ free))) / across
    return np.linalg.solve(alone.L.T, free + U @ along), unit * (V.T @ (along / across)), alone.independence


def _three_columns(value: ArrayLike | None, n: int) -> Array:
    """At the start, the middle and the end of a step; nothing is zero, and a single column serves all three."""
    return np.zeros((n, 3)) if value is None else np.array(np.broadcast_to(np.transpose(value), (3, n)).T)


def _size(gap: Array) -> float:
    return float(np.abs(gap).max(initial=0.0))


def _slices(sizes: list[int], names: list[str]) -> dict[str, slice]:
    ends = np.cumsum([0, *sizes]).tolist()
    return {name: slice(a, b) for name, a, b in zip(names, ends[:-1], ends[1:], strict=True)}
