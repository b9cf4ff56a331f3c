"""Accelerations and contact forces of a state, and whether the constraints determine them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np

from granite.kernels.kernel import Array
from granite.mrds.tolerances import DEPENDENT_SINE, LINEARISED_RESIDUAL


class SolutionStatus(Enum):
    """Whether the constraints determine their forces."""

    UNIQUE = "unique"
    #: constraints depend on each other: redundant contacts, or a singular pose such as that of an arm held at full
    #: stretch; of all constraint forces with the same effect the smallest are given
    NOT_UNIQUE = "not unique"
    #: besides, no acceleration satisfies all of them: the nearest one is given, and the forces have no meaning
    CONTRADICTORY = "contradictory"


class ContactSolution(NamedTuple):
    """Accelerations and contact forces of a state."""

    acceleration: Array  #: (n_u) u' of all modules [m/s^2, rad/s^2]
    force: Array  #: (n_held) constraint forces of all contacts, by E on P, in their order [N, N m]
    #: sine of the smallest angle of a constraint to the others; at most DEPENDENT_SINE: forces are not unique
    independence: float
    status: SolutionStatus = SolutionStatus.UNIQUE


def status_of(independence: float, A: Array, acceleration: Array, y: Array) -> SolutionStatus:
    """The status of a solution of A u' = y with the constraint Jacobian A (n_held, n_u)."""
    if independence > DEPENDENT_SINE:
        return SolutionStatus.UNIQUE
    scale = 1 + np.abs(y).max(initial=0.0) + (np.abs(A) @ np.abs(acceleration)).max(initial=0.0)
    missed = np.abs(A @ acceleration - y).max(initial=0.0) > LINEARISED_RESIDUAL * scale
    return SolutionStatus.CONTRADICTORY if missed else SolutionStatus.NOT_UNIQUE
