"""Modes of a contact set about a state: eigenvalues and shapes, and the longest stable step of Runge-Kutta."""

from __future__ import annotations

import cmath
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from granite.config.coordinates import velocities
from granite.config.errors import InputError
from granite.kernels.kernel import Array
from granite.mrds.contacts.contact_set import ContactSet
from granite.mrds.linearisation import StateSpace, linearise
from granite.mrds.tolerances import EIGENVALUE_ROUNDING, RIGID_MODE


class VibrationMode(NamedTuple):
    """A mode of vibration: the shape times e^(λ t); a rigid-body mode moves along its shape at any speed."""

    frequency: float  #: |λ| / 2 π, the undamped one [Hz]
    damping_ratio: float  #: -Re λ / |λ|: 1 for aperiodic decay, -1 for aperiodic growth, 0 for a rigid-body mode
    eigenvalue: complex  #: λ [1/s]
    shape: dict[str, complex]  #: by name of the coordinate; the largest is 1
    rigid: bool  #: a rigid-body mode: no restoring force
    unstable: bool  #: its amplitude grows


class StabilityLimit(NamedTuple):
    """Stability of the classical Runge-Kutta method, fourth order."""

    fastest: float  #: largest |λ| [rad/s]
    step: float  #: the longest at which no stable mode grows [s]
    frequency: float  #: of the mode that limits it [Hz]

    def complaint(self, step: float) -> InputError | None:
        """What is wrong with a step that is too long [s]."""
        if step <= self.step:
            return None
        return InputError(
            f"a step of {step:.4g} s is too long for the mode of {self.frequency:.4g} Hz",
            expected=f"at most {self.step:.4g} s or fewer modes",
        )


def modes(
    contact_set: ContactSet, q: ArrayLike, force: ArrayLike | None = None, u: ArrayLike | None = None
) -> tuple[VibrationMode, ...]:
    """Modes of small motions about a state.

    A pair of conjugate eigenvalues is one mode, and each real eigenvalue is one. Where the state is no equilibrium, the
    modes are those of the frozen state.

    Parameters
    ----------
    contact_set
        The closed contacts; the state satisfies their constraints.
    q, u
        (n_q), (n_u) state; at rest if u is not given.
    force
        (n_u) generalised force; zero if not given.

    Returns
    -------
    tuple[Mode, ...]
        Rigid-body modes first, then by frequency.

    Raises
    ------
    InputError
        Where the state does not satisfy the constraints, or is singular.

    Examples
    --------
    >>> [mode.frequency for mode in modes(system.contact_set(), q)]
    """
    still = np.zeros(sum(len(velocities(m)) for m in contact_set.modules.values()))
    linear = linearise(contact_set, q, still if u is None else u, still if force is None else force)
    values, vectors = np.linalg.eig(linear.A)
    rounding = max(EIGENVALUE_ROUNDING * float(np.abs(values).max(initial=0.0)) ** 2, RIGID_MODE**2)
    vibration_modes = []
    for pose in _rigid_modes(linear, rounding).T:
        vibration_modes.append(VibrationMode(0.0, 0.0, 0j, _shape(linear, pose), rigid=True, unstable=False))
    for i in np.argsort(np.abs(values)):
        value = complex(values[i])
        if abs(value) ** 2 > rounding and value.imag >= 0:
            growth = value.real
            frequency = abs(value) / (2 * math.pi)
            damping_ratio = -growth / abs(value)
            shape = _shape(linear, vectors[:, i])
            unstable = bool(growth * abs(value) > rounding)
            vibration_modes.append(
                VibrationMode(frequency, damping_ratio, value, shape, rigid=False, unstable=unstable)
            )
    return tuple(vibration_modes)


def stability_limit(
    contact_set: ContactSet, q: ArrayLike, force: ArrayLike | None = None, u: ArrayLike | None = None
) -> StabilityLimit:
    """The fastest mode about a state, and the longest stable step; parameters as those of `modes`."""
    limit = StabilityLimit(0.0, math.inf, 0.0)
    for mode in modes(contact_set, q, force, u):
        limit = limit._replace(fastest=max(limit.fastest, abs(mode.eigenvalue)))
        if (step := stable_step(mode.eigenvalue)) < limit.step:
            limit = limit._replace(step=step, frequency=mode.frequency)
    return limit


def stable_step(eigenvalue: complex) -> float:
    """The largest h with |R(h λ)| <= 1, R(z) = 1 + z + z^2/2 + z^3/6 + z^4/24; a positive real part of λ is ignored."""
    direction = complex(min(eigenvalue.real, 0.0), eigenvalue.imag)
    if direction == 0:
        return math.inf
    turn = cmath.exp(1j * cmath.phase(direction))

    def growth(z: float) -> float:
        return float(abs(np.polyval([1 / 24, 1 / 6, 1 / 2, 1, 1], z * turn))) - 1

    # Each ray of the left half plane leaves |R| <= 1 once: at 2.785 on the real axis, 2.828 on the imaginary one.
    from scipy.optimize import brentq

    return float(brentq(growth, 2.0, 4.0, xtol=1e-14)) / abs(direction)


def _rigid_modes(linear: StateSpace, rounding: float) -> Array:
    """Shapes of the rigid-body modes, in the coordinates of the state space, one column each.

    Their zero eigenvalues are double and defective, so eigenvectors do not span them, but the invariant subspace of all
    zero eigenvalues does: at rest it is poses times velocities, and its part in the poses has singular values of one
    and zero only.
    """
    n_pose = sum(not c.unit.endswith("/s") for c in linear.states)
    from scipy.linalg import schur

    _, Q, n_zero = schur(linear.A, output="complex", sort=lambda value: abs(value) ** 2 <= rounding)
    part = Q[:n_pose, :n_zero]
    U, sizes, _ = np.linalg.svd(np.hstack([part.real, part.imag]))
    poses: Array = U[:, : np.count_nonzero(sizes > 0.5)]
    return np.vstack([poses, np.zeros((len(linear.A) - n_pose, poses.shape[1]))])


def _shape(linear: StateSpace, x: Array) -> dict[str, complex]:
    n_u = len(linear.T) // 2
    moved = linear.T[:n_u] @ x
    greatest = moved[np.argmax(np.abs(moved))]
    return {c.name: complex(m / greatest) for c, m in zip(linear.outputs, moved, strict=False)}
