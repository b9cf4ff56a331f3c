"""Small motions of a contact set about a state: x' = A x + B f, y = C x + D f, by automatic differentiation.

A pose is perturbed by dθ with dq = N(q) dθ, where q' = N(q) u: as many numbers as velocities; those of a quaternion are
a rotation vector in body axes. The rate of a perturbation is not that of the velocities alone:

    dθ' = du + N^+ (d(N u)/dq N - N') dθ        (for a body with angular velocity w it is dw - w x dθ)

Acceleration a and constraint forces F satisfy H a = f + A^T F and A a = y. Differentiating these two equations, and not
their solution, leaves the same matrix in front of da and dF: dependent constraints are no special case.

With closed contacts not all coordinates are independent. The reduced form keeps independent ones, of pose and of
velocity, and the others follow, (dθ, du) = T x: gaps stay zero, G dθ = 0, and slips stay zero,
A du + d(A u)/dθ dθ = 0. Its eigenvalues are those of the mechanism. The other form keeps all coordinates; at rest each
constraint adds two zero eigenvalues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from granite.config.coordinates import Coordinate, of_all, velocities
from granite.config.errors import InputError, one_of
from granite.kernels.kernel import Array
from granite.mrds.contacts.assembly import Assembly
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.contacts.friction import form
from granite.mrds.contacts.kind import DIRECTIONS, PLANAR
from granite.mrds.tolerances import DEPENDENT_SINE, LINEARISATION_ERROR, LINEARISED_RESIDUAL


class StateSpace(NamedTuple):
    """x' = A x + B f, y = C x + D f. States: coordinates, perturbed and named as their velocities, then velocities."""

    A: Array
    B: Array
    C: Array
    D: Array
    states: tuple[Coordinate, ...]
    inputs: tuple[Coordinate, ...]
    outputs: tuple[Coordinate, ...]
    T: Array  #: (2 n_u, n_x) from x to all coordinates and all velocities


def linearise(
    contact_set: ContactSet,
    q: ArrayLike,
    u: ArrayLike,
    force: ArrayLike,
    *,
    inputs: Sequence[str] | Mapping[Coordinate, ArrayLike] | None = None,
    outputs: Sequence[str] | None = None,
    reduced: bool = True,
) -> StateSpace:
    """The contact set linearised about a state under a generalised force.

    Parameters
    ----------
    contact_set
        The closed contacts.
    q, u, force
        (n_q), (n_u), (n_u) state and generalised force.
    inputs
        Generalised forces along coordinates of these names (`elbow`; with several modules `arm_elbow`), or new inputs,
        each with the generalised force (n_u) of a unit of it; if not given, along all coordinates.
    outputs
        Coordinates, velocities and constraint forces by key (`elbow_rad`, `elbow_rad_s`; of a contact `hold_x_n` and
        `hold_rz_n_m`); if not given, all coordinates and velocities.
    reduced
        Whether to keep independent coordinates only.

    Returns
    -------
    StateSpace
        A, B, C, D with the names of states, inputs and outputs.

    Raises
    ------
    InputError
        Where the state does not satisfy the constraints or is singular, a name is unknown, or an output is a constraint
        force that is not unique.

    Examples
    --------
    >>> linear = linearise(system.contact_set(), q, 0 * u, 0 * u, inputs=["elbow"])
    >>> poles = np.linalg.eigvals(linear.A)
    """
    at = _Derivatives.of(contact_set)
    pose, speed, applied = (np.asarray(x, dtype=float) for x in (q, u, force))
    n_u = len(speed)
    H, A, net_force, demand = at.balance(pose, speed, applied)
    held = _ConstrainedDynamics(H, A)
    acceleration, holding = held.solve(net_force, demand)
    coordinates = rates = _IndependentCoordinates(np.eye(n_u), np.arange(n_u))
    follow = np.zeros((n_u, n_u))
    if reduced:
        _refuse_misfit(contact_set, *at.errors(pose, speed))
        coordinates, rates = _free(at, pose, held)
        follow, _ = held.solve(np.zeros((n_u, 1)), -at.slip_change(pose, speed) @ coordinates.motion)
        follow -= rates.motion @ follow[rates.kept]
    T = np.block([[coordinates.motion, np.zeros_like(rates.motion)], [follow, rates.motion]])
    change = at.balance_change(pose, speed, applied, acceleration, holding) @ T
    a_x, F_x = held.solve(change[:n_u], change[n_u:])
    apart = np.hstack([at.turning(pose, speed), np.eye(n_u)]) @ T
    names = _Names.of(contact_set)
    pushed, push = names.inputs(inputs)
    a_f, F_f = held.solve(push, np.zeros((len(A), len(pushed))))
    seen = names.outputs(outputs, held)
    return StateSpace(
        A=np.vstack([apart[coordinates.kept], a_x[rates.kept]]),
        B=np.vstack([np.zeros((len(coordinates.kept), len(pushed))), a_f[rates.kept]]),
        C=np.vstack([T, F_x])[seen],
        D=np.vstack([np.zeros((2 * n_u, len(pushed))), F_f])[seen],
        states=(*(names.poses[i] for i in coordinates.kept), *(names.velocities[i] for i in rates.kept)),
        inputs=pushed,
        outputs=tuple(names.all_outputs[i] for i in seen),
        T=T,
    )


class _Derivatives:
    """The derivatives, in CasADi's virtual machine: a pose is linearised once, so compiling would not pay."""

    def __init__(self, contact_set: ContactSet) -> None:
        modules, planar = contact_set.modules, _planar(contact_set)
        every = Assembly(modules, contact_set.contacts, planar, set(modules))
        dense, rate = every.dense(), every.rate
        q = ca.MX.sym("q", dense.size1_in(0))
        F = ca.MX.sym("F", contact_set.n_held)
        u, a, force = (ca.MX.sym(name, dense.size1_in(1)) for name in ("u", "a", "force"))
        H, f, A, y = dense.call([q, u, force, *(ca.MX.zeros(*dense.size_in(i)) for i in range(3, dense.n_in()))])
        zero = ca.MX.zeros(contact_set.n_held)
        gap, slip = every.errors.call([q, u, zero, zero])
        N = ca.jacobian(rate(q, u), u)
        left = ca.vertcat(f + A.T @ F - H @ a, y - A @ a)
        change = ca.horzcat(ca.jacobian(left, q) @ N, ca.jacobian(left, u))
        N_rate = ca.reshape(ca.jtimes(ca.vec(N), q, rate(q, u)), *N.shape)
        self._balance = ca.Function("balance", [q, u, force], [H, A, f, y])
        self._change = ca.Function("change", [q, u, force, a, F], [change])
        self._errors = ca.Function("errors", [q, u], [gap, slip])
        self._gap_change = ca.Function("gap_change", [q, u], [ca.jacobian(gap, q) @ N])
        self._slip_change = ca.Function("slip_change", [q, u], [ca.jacobian(slip, q) @ N])
        self._turning = ca.Function("turning", [q, u], [N, ca.jacobian(rate(q, u), q) @ N - N_rate])

    @staticmethod
    @lru_cache(maxsize=32)
    def of(contact_set: ContactSet) -> _Derivatives:
        """Derivatives of a contact set, made once."""
        return _Derivatives(contact_set)

    def balance(self, q: Array, u: Array, force: Array) -> tuple[Array, Array, Array, Array]:
        """H, A, f, y."""
        H, A, f, y = (np.array(x) for x in self._balance.call([q, u, force]))
        return H, A, f, y

    def balance_change(self, q: Array, u: Array, force: Array, acceleration: Array, holding: Array) -> Array:
        """Change of f + A^T F - H a and of y - A a, with a and F as they are, for all dθ and all du."""
        return np.array(self._change(q, u, force, acceleration, holding))

    def errors(self, q: Array, u: Array) -> tuple[Array, Array]:
        """Gap and slip."""
        gap, slip = (np.array(x)[:, 0] for x in self._errors.call([q, u]))
        return gap, slip

    def gap_change(self, q: Array) -> Array:
        """G."""
        return np.array(self._gap_change(q, 0))  # gaps do not depend on velocity

    def slip_change(self, q: Array, u: Array) -> Array:
        """d(A u)/dθ."""
        return np.array(self._slip_change(q, u))

    def turning(self, q: Array, u: Array) -> Array:
        """N^+ (d(N u)/dq N - N')."""
        N, more = (np.array(x) for x in self._turning.call([q, u]))
        return np.asarray(np.linalg.lstsq(N, more)[0], dtype=float)


class _ConstrainedDynamics:
    """H a = f + A^T F with A a = y for many f and y, by singular values, with the smallest F.

    With H = L L^T, each constraint is scaled by the motion that it alone would cause: B = L^-1 A^T, columns of unit
    length.
    """

    def __init__(self, H: Array, A: Array) -> None:
        self.H = H
        self._L = np.linalg.cholesky(H)
        B = np.linalg.solve(self._L, A.T)
        length = np.linalg.norm(B, axis=0)
        moving = length > DEPENDENT_SINE * length.max(initial=0.0)
        self._unit = np.divide(1.0, length, out=np.ones_like(length), where=moving)[:, None]
        self._B = B * self._unit.T
        U, sines, V = np.linalg.svd(self._B)
        rank = int(np.count_nonzero(sines > DEPENDENT_SINE * sines.max(initial=0.0)))
        self._U = U[:, :rank]
        self._sines = sines[:rank, None]
        self._V = V[:rank]
        self._idle = V[rank:]
        #: number of redundant constraints
        self.nullity = len(self._idle)
        #: (n_u, n_free) velocities that satisfy all constraints, each with a kinetic energy of 1/2
        self.free = np.linalg.solve(self._L.T, U[:, rank:])
        #: scale of each coordinate in that metric
        self.weight = np.sqrt(np.diag(H))[:, None]

    def solve(self, f: Array, y: Array) -> tuple[Array, Array]:
        """a and F, one column for each of f and y."""
        start = np.linalg.solve(self._L, f)
        need = self._unit * y - self._B.T @ start
        self._refuse(need, 1 + np.abs(start).max(initial=0.0) + np.abs(self._unit * y).max(initial=0.0))
        along = self._V @ need / self._sines
        return np.linalg.solve(self._L.T, start + self._U @ along), self._unit * (self._V.T @ (along / self._sines))

    def refuse_unless_reachable(self, slip: Array) -> None:
        """Raise where no velocities cancel these slips: constraints depend at this pose and not near it."""
        self._refuse(self._unit * slip, 1 + np.abs(self._unit * slip).max(initial=0.0))

    def is_unique(self, row: int) -> bool:
        """Whether the force of this constraint is unique."""
        return bool(np.abs(self._idle[:, row]).max(initial=0.0) < LINEARISED_RESIDUAL)

    def _refuse(self, need: Array, size: float) -> None:
        if np.abs(self._idle @ need).max(initial=0.0) > LINEARISED_RESIDUAL * size:
            raise InputError(
                f"{self.nullity} constraints depend on the others at this pose but not near it",
                key="contacts",
                expected="a pose that is not singular",
            )


class _IndependentCoordinates(NamedTuple):
    """Independent coordinates, and the motion of all coordinates for a unit of each."""

    motion: Array  #: (n_u, free)
    kept: NDArray[np.intp]  #: (free) which coordinates

    @classmethod
    def of(cls, held: _ConstrainedDynamics) -> _IndependentCoordinates:
        """The coordinates with the largest parts, so that the others follow by small factors."""
        count = held.free.shape[1]
        from scipy.linalg import qr

        order = qr((held.free * held.weight).T, mode="r", pivoting=True)[1]
        kept = np.sort(order[:count])
        motion = np.linalg.solve(held.free[kept].T, held.free.T).T
        motion[kept] = np.eye(count)
        return cls(motion, kept)


def _free(
    at: _Derivatives, q: Array, held: _ConstrainedDynamics
) -> tuple[_IndependentCoordinates, _IndependentCoordinates]:
    """Of the pose and of the velocity."""
    rates = _IndependentCoordinates.of(held)
    coordinates = _IndependentCoordinates.of(_ConstrainedDynamics(held.H, at.gap_change(q)))
    if len(coordinates.kept) == len(rates.kept):
        coordinates = rates  # all constraints are holonomic: the two spaces are the same
    for along in rates.motion.T if held.nullity else ():
        held.refuse_unless_reachable(at.slip_change(q, along) @ coordinates.motion)
    return coordinates, rates


class _Names(NamedTuple):
    """Names of all states, inputs and outputs."""

    poses: list[Coordinate]
    velocities: list[Coordinate]
    holding: list[Coordinate]

    @classmethod
    def of(cls, contact_set: ContactSet) -> _Names:
        """Module by module, and contact by contact."""
        moving = of_all(list(contact_set.modules.values()), velocities)
        directions = PLANAR if _planar(contact_set) else range(6)
        holding = [
            Coordinate(f"{contact.name}_{direction}", "N m" if direction.startswith("r") else "N")
            for contact in contact_set.contacts
            for direction in form(contact, contact.name in contact_set.label.slipping).held
            if DIRECTIONS.index(direction) in directions
        ]
        return cls([Coordinate(c.name, c.unit.removesuffix("/s")) for c in moving], list(moving), holding)

    @property
    def all_outputs(self) -> list[Coordinate]:
        """In the order of T, then of the constraint forces."""
        return [*self.poses, *self.velocities, *self.holding]

    def inputs(
        self, chosen: Sequence[str] | Mapping[Coordinate, ArrayLike] | None
    ) -> tuple[tuple[Coordinate, ...], Array]:
        """The inputs, and the generalised force of a unit of each, one column each."""
        n_u = len(self.velocities)
        if isinstance(chosen, Mapping):
            columns = [np.asarray(column, dtype=float) for column in chosen.values()]
            for coordinate, column in zip(chosen, columns, strict=True):
                if column.shape != (n_u,):
                    key = f"input '{coordinate.name}'"
                    shape = f"has shape {column.shape}"
                    raise InputError(shape, key=key, expected=f"({n_u},)")
            return tuple(chosen), np.array(columns).reshape(len(columns), n_u).T
        names = [c.name for c in self.velocities]
        rows = list(range(n_u)) if chosen is None else [_index(name, names, "input") for name in chosen]
        return tuple(_force(self.velocities[i]) for i in rows), np.eye(n_u)[:, rows]

    def outputs(self, chosen: Sequence[str] | None, held: _ConstrainedDynamics) -> list[int]:
        """Their rows; constraint forces only if they are unique."""
        keys = [c.key for c in self.all_outputs]
        first = 2 * len(self.poses)
        rows = list(range(first)) if chosen is None else [_index(name, keys, "output") for name in chosen]
        for i in rows:
            if i >= first and not held.is_unique(i - first):
                key = f"output '{keys[i]}'"
                problem = "other constraints can take its place"
                raise InputError(problem, key=key, expected="a unique force")
        return rows


def _force(velocity: Coordinate) -> Coordinate:
    if velocity.unit == "m/s":
        return Coordinate(f"{velocity.name}_force", "N")
    return Coordinate(f"{velocity.name}_torque", "N m")


def _index(name: str, names: list[str], what: str) -> int:
    if name not in names:
        raise InputError(key=what, value=name, expected=one_of(name, names))
    return names.index(name)


def _planar(contact_set: ContactSet) -> bool:
    return all(module.dimension == "planar" for module in contact_set.modules.values())


def _refuse_misfit(contact_set: ContactSet, gap: Array, slip: Array) -> None:
    for name, rows in contact_set.rows.items():
        for what, error in (("gap", gap), ("slip", slip)):
            if (worst := np.abs(error[rows]).max(initial=0.0)) > LINEARISATION_ERROR:
                raise InputError(
                    f"contact '{name}' has a {what} of {worst:.3g}", expected="a state that satisfies its contacts"
                )
