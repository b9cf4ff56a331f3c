"""One contact set of a system as numbers: how it moves, how well it holds, and what taking hold does.

Letting go is choosing another set: velocities go on as they are. Taking hold is `catch`, an impulse.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from config.contacts import Contact
from config.coordinates import velocities
from config.errors import InputError, expected_one_of
from config.modules import Module
from mrds.compilation import compile_functions
from mrds.contacts.assembly import Assembly, hubs
from mrds.kernel import Array, Kernel

#: below this, the constraints depend on each other: forces are then the smallest of all that do
DEPENDENT = 1e-9
#: sine squared above which elimination keeps enough digits; below, the forces are found by singular values
SOUND = 1e-6
NO_FEEDBACK = (0.0, 0.0)
#: poses are projected until no gap is greater [m, rad]
CLOSED = 1e-12


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


class ContactSet:
    """Modules with these contacts closed, compiled at first use."""

    def __init__(self, modules: dict[str, Module], contacts: tuple[Contact, ...], planar: bool) -> None:
        self.modules, self.contacts, self._planar = modules, contacts, planar
        self._assembly = Assembly(modules, contacts, planar, hubs(modules, contacts, planar))
        joined = self._assembly.joined
        self.n_held, self.n_free = joined.n_held, joined.n_free
        #: where the holding forces of each contact stand
        self.rows = _slices([j.n_held for j in joined.joints], [c.name for c in contacts])
        self._still = np.zeros(self.n_held)
        self._nothing = np.zeros(self.n_free), self._still, self._still, np.zeros(2)

    def accelerate(
        self,
        q: ArrayLike,
        u: ArrayLike,
        force: ArrayLike,
        *,
        free_force: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        feedback: tuple[float, float] = NO_FEEDBACK,
    ) -> Motion:
        """Accelerations and holding forces under a generalised force.

        `free_force` acts along the free modes of the contacts, by E on P (actuated contacts); `velocity` and
        `prescribed` are the velocity and acceleration demanded along their constrained modes (kinematic excitation);
        `feedback` pulls constraint errors back: x''_c gets -feedback[0] slip - feedback[1] gap.
        """
        if free_force is None and velocity is None and prescribed is None and feedback == NO_FEEDBACK:
            acceleration, held, independence = self._kernels["accelerate"].call(q, u, force)
            if independence[0] > SOUND:
                return Motion(acceleration.copy(), held.copy(), math.sqrt(independence[0]))
        given = zip((free_force, velocity, prescribed), self._nothing[:3], strict=True)
        return self._moved(q, u, force, (*(no if x is None else x for x, no in given), feedback))

    def errors(self, q: ArrayLike, u: ArrayLike, velocity: ArrayLike | None = None) -> tuple[Array, Array]:
        """Gap of the pose and slip of the velocity, for every constrained mode."""
        gap, slip = self._kernels["errors"].call(q, u, self._still if velocity is None else velocity)
        return gap.copy(), slip.copy()

    def constraint_matrix(self, q: ArrayLike) -> Array:
        """A (n_held, n_u): slip = A u - velocity, and A^T takes holding forces to generalised ones."""
        return self._mass_and_constraints(q)[1].copy()

    def catch(self, q: ArrayLike, u: ArrayLike, restitution: float = 0.0) -> Impulse:
        """Take hold: an impulse ends every slip (restitution 0), or sends it back (1: no energy is lost)."""
        if not 0 <= restitution <= 1:
            raise InputError(f"restitution = {restitution:g}, expected a number from 0 to 1")
        before = np.asarray(u, dtype=float)
        slip = self.errors(q, before)[1]
        change, impulse = self._correction(q, -(1 + restitution) * slip)
        # 1/2 u^T M u before less after, with A du = -(1 + e) slip.
        return Impulse(before + change, impulse, float(-0.5 * (1 - restitution) * slip @ impulse))

    def project(self, q: ArrayLike, u: ArrayLike, velocity: ArrayLike | None = None) -> tuple[Array, Array]:
        """The state put back where its contacts hold: Newton steps, smallest in the metric of the masses, close the
        gaps, then the slip is taken out. Where no step makes the gaps smaller, the pose is the best one found."""
        pose, speed = np.array(q, dtype=float), np.array(u, dtype=float)
        gap, _ = self.errors(pose, speed, velocity)
        worst = _size(gap)
        while worst > CLOSED:
            change, _ = self._correction(pose, -gap)
            pose, gap, before = *self._nearer(pose, change, gap), worst
            worst = _size(gap)
            if worst >= before:
                break
        change, _ = self._correction(pose, -self.errors(pose, speed, velocity)[1])
        return pose, speed + change

    def internal_force(self, module: str, q: ArrayLike, force: ArrayLike) -> Array:
        """The part of the holding forces on a module that does no work on it, whatever it does: the squeeze.

        It is what is left of `force` outside the range of the grasp map, with moments counted per metre.
        """
        at = _slices([len(velocities(m)) for m in self.modules.values()], list(self.modules))
        if module not in at:
            raise InputError(f"module '{module}', {expected_one_of(module, list(self.modules))}")
        A = self.constraint_matrix(q)[:, at[module]]
        touching = np.any(A != 0, axis=1)
        squeeze: Array = np.where(touching, np.asarray(force, dtype=float), 0.0)
        squeeze -= A @ np.linalg.lstsq(A.T @ A, A.T @ squeeze, rcond=1e-12)[0]
        return squeeze

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
        feedback: tuple[float, float] = NO_FEEDBACK,
        project: bool = False,
    ) -> tuple[Array, Array]:
        """q and u after one Runge-Kutta step, as `accelerate` says; with `project`, put back where the contacts hold.

        What is done to the contacts is held over the step, or given in three columns: at its start, middle and end.
        """
        step = self._steps["rk4_projected" if project else "rk4"]
        at_q, at_u, push, length, *drive = step.inputs
        at_q[...], at_u[...], push[...], length[...] = q, u, force, h
        # What was not given is zero: each call leaves it so.
        given = (free_force, velocity, prescribed, None if feedback == NO_FEEDBACK else feedback)
        for slot, value in zip(drive, given, strict=True):
            if value is not None:
                slot.T[...] = np.transpose(value)
        q_after, u_after, independence = step.evaluate()
        unsound = None if independence[0] > SOUND else [d.copy() for d in drive]
        for slot, value in zip(drive, given, strict=True):
            if value is not None:
                slot[...] = 0.0
        if unsound is not None:
            return self._rk4_by_stages(at_q.copy(), at_u.copy(), force, h, unsound, project)
        return q_after.copy(), u_after.copy()

    def prepare(self) -> None:
        """Compile everything now, so that nothing is left to the loop."""
        _ = self._kernels, self._steps, self._dense

    def _rk4_by_stages(
        self, q: Array, u: Array, force: ArrayLike, h: float, drive: list[Array], project: bool
    ) -> tuple[Array, Array]:
        """The same step where elimination is not good enough."""
        *columns, gains = drive
        rate, rates = self._kernels["rate"].call, [(np.zeros_like(q), np.zeros_like(u))]
        for column, part in ((0, 0.0), (1, 0.5), (1, 0.5), (2, 1.0)):
            at_q, at_u = q + part * h * rates[-1][0], u + part * h * rates[-1][1]
            motion = self._moved(at_q, at_u, force, (*(d[:, column] for d in columns), gains))
            rates.append((rate(at_q, at_u)[0].copy(), motion.acceleration))
        weights = h / 6 * np.array([1, 2, 2, 1])
        q = q + weights @ np.array([r[0] for r in rates[1:]])
        u = u + weights @ np.array([r[1] for r in rates[1:]])
        q = self._kernels["normalised"].call(q)[0].copy()
        return self.project(q, u, columns[1][:, 2]) if project else (q, u)

    def _moved(self, q: ArrayLike, u: ArrayLike, force: ArrayLike, drive: tuple[ArrayLike, ...]) -> Motion:
        acceleration, held, independence = self._kernels["driven"].call(q, u, force, *drive)
        if independence[0] > SOUND:
            return Motion(acceleration.copy(), held.copy(), math.sqrt(independence[0]))
        return _least_norm(*self._dense.call(q, u, force, *drive))

    def _correction(self, q: ArrayLike, y: Array) -> tuple[Array, Array]:
        """The smallest change of u that changes the constrained velocities by y, and its impulses."""
        change, impulse, independence = self._kernels["correct"].call(q, y)
        if independence[0] > SOUND:
            return change.copy(), impulse.copy()
        M, A = self._mass_and_constraints(q)
        change, impulse, _ = _least_norm(M, np.zeros(len(M)), A, y)
        return change, impulse

    def _mass_and_constraints(self, q: ArrayLike) -> tuple[Array, Array]:
        still = np.zeros(sum(len(velocities(m)) for m in self.modules.values()))
        M, _, A, _ = self._dense.call(q, still, still, *self._nothing)
        return M.reshape(len(still), len(still)), A.reshape(self.n_held, len(still))

    def _nearer(self, q: Array, change: Array, gap: Array) -> tuple[Array, Array]:
        """A step along the change that makes the gaps smaller, halved as often as it takes; else no step."""
        still = np.zeros(len(change))
        for _ in range(10):
            stepped = q + self._kernels["rate"].call(q, change)[0]
            stepped = self._kernels["normalised"].call(stepped)[0].copy()
            there = self.errors(stepped, still)[0]
            if _size(there) < _size(gap):
                return stepped, there
            change = change / 2
        return q, gap

    @cached_property
    def _kernels(self) -> dict[str, Kernel]:
        a = self._assembly
        return compile_functions("system", [a.accelerate(), a.driven, a.errors, a.correct, a.rate, a.normalised])

    @cached_property
    def _steps(self) -> dict[str, Kernel]:
        """For those who integrate: a controller does not, and need not wait for them."""
        a = self._assembly
        return compile_functions("system_steps", [a.rk4("rk4", project=False), a.rk4("rk4_projected", project=True)])

    @cached_property
    def _dense(self) -> Kernel:
        every = Assembly(self.modules, self.contacts, self._planar, set(self.modules))
        return compile_functions("system_dense", [every.dense()])["dense"]


def _least_norm(M: Array, f: Array, A: Array, y: Array) -> Motion:
    """M u' = f + A^T F with A u' = y: of all such F the smallest, each measured by how far it alone would move its
    contact. With M = L L^T and B = L^-1 A^T it is B^T (L^T u') = y that is solved, so no condition number is squared.
    """
    L = np.linalg.cholesky(M.reshape(len(f), len(f)))
    free, B = np.linalg.solve(L, f), np.linalg.solve(L, A.reshape(len(y), len(f)).T)
    length = np.linalg.norm(B, axis=0)
    unit = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    U, sines, V = np.linalg.svd(B * unit, full_matrices=False)
    used = sines > DEPENDENT * sines.max(initial=0.0)
    U, V, across = U[:, used], V[used], sines[used]
    along = (V @ (unit * (y - B.T @ free))) / across
    least = sines[-1] / sines[0] if len(sines) == len(y) and sines[0] > 0 else 0.0
    return Motion(np.linalg.solve(L.T, free + U @ along), unit * (V.T @ (along / across)), float(least))


def _size(gap: Array) -> float:
    return float(np.abs(gap).max(initial=0.0))


def _slices(sizes: list[int], names: list[str]) -> dict[str, slice]:
    ends = np.cumsum([0, *sizes]).tolist()
    return {name: slice(a, b) for name, a, b in zip(names, ends[:-1], ends[1:], strict=True)}
