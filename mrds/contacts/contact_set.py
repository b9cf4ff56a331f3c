"""One contact set of a system as numbers: accelerations, contact forces, constraint errors, and impulses.

To open a contact is to use another set: velocities stay as they are. To close one is `catch`, an impulse.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granite.config.contacts import Contact
from granite.config.coordinates import positions, velocities
from granite.config.errors import InputError, one_of
from granite.config.modules import Module
from granite.kernels.kernel import Array, Kernel
from granite.mrds.contacts.assembly import Assembly, hubs
from granite.mrds.contacts.contact_kernels import ContactKernels
from granite.mrds.contacts.friction import magnitudes_by_trial
from granite.mrds.contacts.least_norm import as_columns, least_norm
from granite.mrds.contacts.solution import ContactSolution, status_of
from granite.mrds.integrators import rk4
from granite.mrds.tolerances import ELIMINATION_SINE_SQUARED, PROJECTED_GAP

#: gains of Baumgarte stabilisation: none
NO_FEEDBACK = (0.0, 0.0)


class Impulse(NamedTuple):
    """An impulsive change of the contact set."""

    u: Array  #: (n_u) velocities after
    impulse: Array  #: (n_held) of all contacts, by E on P [N s, N m s]
    energy_lost: float  #: [J]


class Drive(NamedTuple):
    """Prescribed motions of, and forces in, the contacts of a set, in their order."""

    free_force: Array  #: (n_free) F_u along the free modes [N, N m]
    velocity: Array  #: (n_held) x'_c along the constrained modes [m/s, rad/s]
    prescribed: Array  #: (n_held) x''_c [m/s^2, rad/s^2]
    displacement: Array  #: (n_held) x_c [m, rad]


class Label(NamedTuple):
    """Identity of a contact set: sets with equal labels are equal."""

    closed: tuple[str, ...]
    slipping: frozenset[str]  #: those of them that slide under friction


class ContactSet:
    """Modules with these contacts closed; compiled at first use. Made by `System.contact_set`.

    q (n_q) and u (n_u) are those of all modules, one after the other. Constraint forces, gaps and slips (n_held) are
    those of the closed contacts, one after the other; `rows` has the slice of each by name.
    """

    def __init__(
        self,
        modules: dict[str, Module],
        contacts: tuple[Contact, ...],
        planar: bool,
        slipping: frozenset[str] = frozenset(),
    ) -> None:
        self.modules = modules
        self.contacts = contacts
        self.planar = planar
        self.label = Label(tuple(c.name for c in contacts), slipping)
        self.assembly = Assembly(modules, contacts, planar, hubs(modules, contacts, planar, slipping), slipping)
        self.compiled = ContactKernels(self.assembly, modules, contacts, planar, slipping)
        level = self.assembly.level
        self.n_held = level.n_held
        self.n_free = level.n_free
        self.n_q = sum(len(positions(m)) for m in modules.values())
        self.n_u = sum(len(velocities(m)) for m in modules.values())
        #: by contact: rows of its constraint forces
        self.rows = _slices([k.n_held for k in level.kinematics], [c.name for c in contacts])
        #: sizes of free force, velocity, prescribed acceleration, gains, displacement
        self._drive_sizes = self.n_free, self.n_held, self.n_held, 2, self.n_held

    def accelerate(
        self,
        q: ArrayLike,
        u: ArrayLike,
        force: ArrayLike,
        *,
        free_force: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        prescribed: ArrayLike | None = None,
        displacement: ArrayLike | None = None,
        feedback: tuple[float, float] = NO_FEEDBACK,
    ) -> ContactSolution:
        """Accelerations and constraint forces under a generalised force.

        Parameters
        ----------
        q, u
            (n_q), (n_u) state.
        force
            (n_u) generalised force [N, N m].
        free_force
            (n_free) forces along the free modes, by E on P (actuated contacts) [N, N m].
        velocity, prescribed, displacement
            (n_held) prescribed velocity, acceleration and displacement along the constrained modes (kinematic
            excitation), as `drive` gives them.
        feedback
            Gains of Baumgarte stabilisation: x''_c gets -feedback[0] slip - feedback[1] gap [1/s, 1/s^2].

        Returns
        -------
        ContactSolution
            u', constraint forces, independence of the constraints, and whether they determine the forces: at a singular
            pose and with redundant contacts they do not.

        Raises
        ------
        JammedError
            Where the friction of sliding contacts has no unique solution.
        """
        state = self._state(q, u, force)
        # The displacement matters to the feedback alone.
        if free_force is None and velocity is None and prescribed is None and feedback == NO_FEEDBACK:
            solution = self._eliminated("accelerate", state)
            if solution is not None:
                return solution
        return self._solved(state, self._driven_by((free_force, velocity, prescribed, feedback, displacement)))

    def drive(self, t: ArrayLike) -> Drive:
        """Configured motions of, and forces in, the contacts.

        Parameters
        ----------
        t
            Time [s], or several.

        Returns
        -------
        Drive
            With one column for each of several times.
        """
        kernel = self.compiled.drive
        times = np.atleast_1d(np.asarray(t, dtype=float))
        at = [kernel.split(kernel.run((time.tobytes(),))) for time in times]
        return Drive(*at[0]) if np.ndim(t) == 0 else Drive(*(np.stack(x, axis=1) for x in zip(*at, strict=True)))

    def errors(
        self, q: ArrayLike, u: ArrayLike, velocity: ArrayLike | None = None, displacement: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Constraint errors.

        Parameters
        ----------
        q, u
            (n_q), (n_u) state.
        velocity, displacement
            (n_held) prescribed velocity and displacement; zero if not given.

        Returns
        -------
        tuple[Array, Array]
            (n_held) gap of the pose [m, rad] and slip of the velocity [m/s, rad/s] along every constrained mode.
        """
        kernel = self.compiled.solutions["errors"]
        prescribed = _column(velocity, self.n_held), _column(displacement, self.n_held)
        gap, slip = kernel.split(kernel.run((*self._state(q, u), *prescribed)))
        return gap, slip

    def constraint_matrix(self, q: ArrayLike) -> Array:
        """The constraint Jacobian A (n_held, n_u): slip = A u - velocity; A^T F_c is the generalised force."""
        return self.mass_and_constraints(q)[1]

    def mass_and_constraints(self, q: ArrayLike) -> tuple[Array, Array]:
        """M (n_u, n_u) of all modules, and the constraint Jacobian A (n_held, n_u)."""
        zero = np.zeros(self.n_u)
        M, _, A, _ = self._dense_terms(self._state(q, zero, zero), self._driven_by((None,) * 5))
        return M, A

    def catch(self, q: ArrayLike, u: ArrayLike, restitution: float = 0.0) -> Impulse:
        """Close the contacts by an impulse that ends every slip (restitution 0) or reverses it (1: no energy lost).

        Parameters
        ----------
        q, u
            (n_q), (n_u) state before; the gaps are closed already.
        restitution
            From 0 to 1.

        Returns
        -------
        Impulse
            Velocities after, impulses and energy lost.

        Raises
        ------
        InputError
            Where the restitution is out of its range.
        """
        if not 0 <= restitution <= 1:
            raise InputError(key="restitution", value=restitution, expected="a number from 0 to 1")
        before = np.asarray(u, dtype=float)
        slip = self.errors(q, before)[1]
        change, impulse = self.correct(q, -(1 + restitution) * slip)
        # 1/2 u^T M u before less after, with A du = -(1 + e) slip.
        return Impulse(before + change, impulse, float(-0.5 * (1 - restitution) * slip @ impulse))

    def project(
        self, q: ArrayLike, u: ArrayLike, velocity: ArrayLike | None = None, displacement: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Project a state onto the constraints: of position by Newton steps, then of velocity.

        Each step is the smallest in the metric of the mass matrix.

        Parameters
        ----------
        q, u
            (n_q), (n_u) state.
        velocity, displacement
            (n_held) prescribed velocity and displacement; zero if not given.

        Returns
        -------
        tuple[Array, Array]
            q and u. Where no step makes the gaps smaller, the pose is the best one found: ask `errors`.

        Examples
        --------
        >>> q, u = contact_set.project(q, u)
        >>> gap, slip = contact_set.errors(q, u)
        """
        pose, speed = np.array(q, dtype=float), np.array(u, dtype=float)
        gap, _ = self.errors(pose, speed, velocity, displacement)
        worst = _size(gap)
        while worst > PROJECTED_GAP:
            change, _ = self.correct(pose, -gap)
            pose, gap, before = *self._nearer(pose, change, gap, displacement), worst
            worst = _size(gap)
            if worst >= before:
                break
        change, _ = self.correct(pose, -self.errors(pose, speed, velocity, displacement)[1])
        return pose, speed + change

    def displaced(self, q: ArrayLike, step: ArrayLike) -> Array:
        """The pose after a small step (n_u) along the velocities, quaternions normalised."""
        pose, way = self._state(q, step)
        return self.normalised(pose + self.rate(pose, way))

    def rate(self, q: Array, u: Array) -> Array:
        """q' (n_q)."""
        return self.compiled.solutions["rate"].run((q, u))

    def normalised(self, q: Array) -> Array:
        """q with every quaternion normalised."""
        return self.compiled.solutions["normalised"].run((q,))

    def internal_force(self, module: str, q: ArrayLike, force: ArrayLike) -> Array:
        """The part of the constraint forces on a module that neither pushes nor turns it: the squeeze.

        The module counts as one rigid body without its base. The forces by its contacts with others are split into the
        smallest ones with the same resultant wrench, and the rest, which is returned. Moments count per metre.

        Parameters
        ----------
        module
            Its name.
        q
            (n_q) pose.
        force
            (n_held) constraint forces [N, N m].

        Returns
        -------
        Array
            (n_held) internal forces [N, N m]; zero for contacts of other modules.

        Raises
        ------
        InputError
            Where there is no such module.
        """
        if module not in self.modules:
            raise InputError(key="module", value=module, expected=one_of(module, self.modules))
        kernel = self.compiled.solutions["internal_forces"]
        parts = kernel.split(kernel.run((*self._state(q), _column(force, self.n_held))))
        return parts[list(self.modules).index(module)]

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
        displacement: ArrayLike | None = None,
        feedback: tuple[float, float] = NO_FEEDBACK,
        project: bool = False,
    ) -> tuple[Array, Array]:
        """One classical Runge-Kutta step.

        Parameters
        ----------
        q, u, force
            (n_q), (n_u), (n_u) state, and generalised force over the step (zero-order hold).
        h
            Length of the step [s].
        free_force, velocity, prescribed, displacement
            As in `accelerate`, held over the step or in three columns: at its start, middle and end.
        feedback
            Gains of Baumgarte stabilisation, as in `accelerate`.
        project
            Whether to project the result onto the constraints.

        Returns
        -------
        tuple[Array, Array]
            q and u after the step.

        Raises
        ------
        JammedError
            As `accelerate`.
        """
        which = "rk4_projected" if project else "rk4"
        state = self._state(q, u, force)
        step = np.array(h, dtype=float)
        drive = (free_force, velocity, prescribed, displacement)
        undriven = all(x is None for x in drive) and feedback == NO_FEEDBACK
        if undriven:
            after = self._stepped(self.compiled.steps[which], (*state, step))
            if after is not None:
                return after
        *columns, displacements = (
            _three_times(x, n) for x, n in zip(drive, (self.n_free, *[self.n_held] * 3), strict=True)
        )
        gains = np.array(feedback, dtype=float)
        if not undriven:
            after = self._stepped(self.compiled.driven_steps[which], (*state, step, *columns, gains, displacements))
            if after is not None:
                return after
        return self._rk4_by_svd(state, h, columns, gains, displacements, project)

    def prepare(self, steps: bool = True) -> None:
        """Compile everything now, so that nothing is compiled in the loop; without `steps`, all but those of `rk4`.

        Driven steps are compiled where the configuration drives contacts.
        """
        self.compiled.prepare(steps)

    def correct(self, q: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """The change of u (n_u), smallest in the metric of M, that changes the constrained velocities by y; impulses.

        Parameters
        ----------
        q
            (n_q) pose.
        y
            (n_held) change along the constrained modes [m/s, rad/s].

        Returns
        -------
        tuple[Array, Array]
            (n_u) change of u, and (n_held) impulses by E on P [N s, N m s].
        """
        kernel = self.compiled.solutions["correct"]
        (pose,) = self._state(q)
        wanted = _column(y, self.n_held)
        change, impulse, independence = kernel.split(kernel.run((pose, wanted)))
        if independence[0] > ELIMINATION_SINE_SQUARED:
            return change, impulse
        M, A = self.mass_and_constraints(pose)
        change, impulse, _ = least_norm(M, np.zeros(len(M)), A, wanted)
        return change[:, 0], impulse[:, 0]

    def _stepped(self, kernel: Kernel, arguments: tuple[Array, ...]) -> tuple[Array, Array] | None:
        """q and u after a compiled step; None where elimination loses digits on the way."""
        q, u, independence = kernel.split(kernel.run(arguments))
        return (q, u) if independence[0] > ELIMINATION_SINE_SQUARED else None

    def _rk4_by_svd(
        self,
        state: tuple[Array, ...],
        h: float,
        columns: list[Array],
        gains: Array,
        displacements: Array,
        project: bool,
    ) -> tuple[Array, Array]:
        """The same step, its contact forces by singular values where elimination loses digits."""
        q, u, force = state

        def rate(x: Array, part: float) -> Array:
            at_q = x[: self.n_q]
            at_u = x[self.n_q :]
            now = round(2 * part)
            drive = (*(d[now] for d in columns), gains, displacements[now])
            solution = self._solved((at_q, at_u, force), drive)
            return np.concatenate([self.rate(at_q, at_u), solution.acceleration])

        after = rk4(rate, np.concatenate([q, u]), h)
        q, u = self.normalised(after[: self.n_q]), after[self.n_q :]
        return self.project(q, u, columns[1][2], displacements[2]) if project else (q, u)

    def _state(self, *values: ArrayLike) -> tuple[Array, ...]:
        """q, then u and force as far as given, as contiguous arrays of their sizes."""
        sizes = self.n_q, self.n_u, self.n_u
        return tuple(_column(value, n) for value, n in zip(values, sizes, strict=False))

    def _driven_by(self, drive: tuple[ArrayLike | None, ...]) -> tuple[Array, ...]:
        """Free force, velocity, prescribed acceleration, gains and displacement; zero where not given."""
        return tuple(_column(value, n) for value, n in zip(drive, self._drive_sizes, strict=True))

    def _eliminated(self, which: str, arguments: tuple[Array, ...]) -> ContactSolution | None:
        """The solution by elimination; None where that loses digits."""
        kernel = self.compiled.solutions[which]
        acceleration, force, independence = kernel.split(kernel.run(arguments))
        if not independence[0] > ELIMINATION_SINE_SQUARED:
            return None
        return ContactSolution(acceleration, force, math.sqrt(independence[0]))

    def _solved(self, state: tuple[Array, ...], drive: tuple[Array, ...]) -> ContactSolution:
        """The solution under a drive, by elimination or by singular values."""
        solution = self._eliminated("driven", (*state, *drive))
        if solution is None:
            _, _, A, y = terms = self._dense_terms(state, drive)
            solution = self._with_friction(*least_norm(*terms), A, y)
        return solution

    def _dense_terms(self, state: tuple[Array, ...], drive: tuple[Array, ...]) -> tuple[Array, ...]:
        """M, f, A and y as matrices; f and y with a column for a unit of each friction."""
        M, f, A, y = self.compiled.dense.split(self.compiled.dense.run((*state, *drive)))
        return M.reshape(self.n_u, self.n_u), as_columns(f), A.reshape(self.n_held, self.n_u), as_columns(y)

    def _with_friction(
        self, accelerations: Array, forces: Array, independence: float, A: Array, y: Array
    ) -> ContactSolution:
        """The columns combined: without friction, and each friction by its magnitude."""
        sliding, part = self.assembly.level.sliding, np.ones(1)
        if sliding:
            normals = [contact.normal for contact in sliding]
            part = np.array([1.0, *magnitudes_by_trial(forces[normals, 0], forces[normals, 1:], sliding)])
        acceleration = accelerations @ part
        status = status_of(independence, A, acceleration, y @ part)
        return ContactSolution(acceleration, forces @ part, independence, status)

    def _nearer(self, q: Array, change: Array, gap: Array, displacement: ArrayLike | None) -> tuple[Array, Array]:
        """A step along the change that makes the gaps smaller, halved as often as necessary; else no step."""
        zero = np.zeros(len(change))
        for _ in range(10):
            stepped = self.displaced(q, change)
            there = self.errors(stepped, zero, None, displacement)[0]
            if _size(there) < _size(gap):
                return stepped, there
            change = change / 2
        return q, gap


def _column(value: ArrayLike | None, n: int) -> Array:
    """A contiguous column of n numbers: zeros if there is no value, and n times a single number."""
    if value is None:
        return np.zeros(n)
    column = np.ascontiguousarray(value, dtype=float)
    return column if column.shape == (n,) else np.ascontiguousarray(np.broadcast_to(column, (n,)))


def _three_times(value: ArrayLike | None, n: int) -> Array:
    """(3, n) at the start, the middle and the end of a step: zero if there is no value; one column serves all three."""
    if value is None:
        return np.zeros((3, n))
    return np.ascontiguousarray(np.broadcast_to(np.transpose(np.asarray(value, dtype=float)), (3, n)))


def _size(gap: Array) -> float:
    return float(np.abs(gap).max(initial=0.0))


def _slices(sizes: list[int], names: list[str]) -> dict[str, slice]:
    ends = np.cumsum([0, *sizes]).tolist()
    return {name: slice(a, b) for name, a, b in zip(names, ends[:-1], ends[1:], strict=True)}
