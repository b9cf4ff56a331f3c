"""Sharing with the least propellant: min sum f subject to B f = w, 0 <= f <= available.

Propellant is proportional to the sum of the thrusts, all nozzles having one specific impulse, so this is a linear
programme. A small quadratic term, min sum f + (eps/2) f.f, leaves its optimum in place and picks the one
with the least squares where there are several (Mangasarian & Meyer, Nonlinear perturbation of linear
programs, SIAM J. Control Optim. 17, 1979): a strictly convex problem for DAQP's active-set method. Should
eps be too large for some geometry, the propellant exceeds the optimum by the fraction eps/2
max(available) = 5e-5 at most.

A wrench that is not feasible gives the nearest feasible one: min |W (B f - w)|^2, 0 <= f <= available.
"""

from __future__ import annotations

from typing import ClassVar

import daqp
import numpy as np

from granite.config.parts import PartTable
from granite.config.records import Array
from granite.controllers.thrusters.contract import ThrusterSet

#: DAQP's mark for an equality
_EQUAL = 5


class LeastPropellant:
    """The linear programme's optimum where the wrench is feasible, else the nearest wrench. No memory."""

    is_on_off: ClassVar[bool] = False

    def __init__(self, options: PartTable, thrusters: ThrusterSet) -> None:
        matrix, available, weight = thrusters[:3]
        m, n = matrix.shape
        self._n, self._matrix, self._available = n, matrix, available
        self._nothing = np.zeros(n)
        self._cost = np.ones(n)
        self._smoothness = 1e-4 / max(float(available.max()), 1e-9) * np.eye(n)
        self._sense = np.array([0] * n + [_EQUAL] * m, dtype=np.int32)
        self._lower, self._upper = np.zeros(n + m), np.zeros(n + m)
        self._upper[:n] = available
        weighted = weight[:, None] * matrix
        square = weighted.T @ weighted
        self._nearness = square + 1e-9 * float(square.max()) * np.eye(n)
        self._pull = -weighted.T * weight
        self._no_rows, self._no_sense = np.zeros((0, n)), np.zeros(n, dtype=np.int32)

    def share(self, wrench: Array) -> Array:
        """The thrust of each thruster [N] for this wrench on the root body."""
        self._lower[self._n :] = wrench
        self._upper[self._n :] = wrench
        thrust: Array
        thrust, _, flag, _ = daqp.solve(
            self._smoothness, self._cost, self._matrix, self._upper, self._lower, self._sense
        )
        if flag < 1:
            pull = self._pull @ wrench
            thrust, _, _, _ = daqp.solve(
                self._nearness, pull, self._no_rows, self._available, self._nothing, self._no_sense
            )
        return np.fmin(np.fmax(thrust, self._nothing), self._available)
