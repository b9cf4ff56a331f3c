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

import numpy as np

from granite.config.parts import PartTable
from granite.config.records import Array
from granite.controllers.quadratic_program import EQUALITY, OUT_OF_REACH, QuadraticProgram, SolveError
from granite.controllers.thrusters.contract import ThrusterSet


class LeastPropellant:
    """The linear programme's optimum where the wrench is feasible, else the nearest wrench. No memory."""

    is_on_off: ClassVar[bool] = False

    def __init__(self, options: PartTable, thrusters: ThrusterSet) -> None:
        # Failed thrusters are left out: variables that are fixed may overdetermine the equalities.
        self._usable = np.flatnonzero(thrusters.available)
        self._all = len(thrusters.available)
        matrix, available, weight = (
            thrusters.matrix[:, self._usable],
            thrusters.available[self._usable],
            thrusters.weight,
        )
        m, n = matrix.shape
        self._matrix, self._available = np.ascontiguousarray(matrix), available
        self._nothing = np.zeros(n)
        self._cost = np.ones(n)
        self._smoothness = 1e-4 / float(available.max(initial=1e-9)) * np.eye(n)
        self._sense = np.array([0] * n + [EQUALITY] * m, dtype=np.int32)
        weighted = weight[:, None] * matrix
        square = weighted.T @ weighted
        self._nearness = square + 1e-9 * float(square.max(initial=1e-9)) * np.eye(n)
        self._pull = -weighted.T * weight
        self._no_rows, self._no_sense = np.zeros((0, n)), np.zeros(n, dtype=np.int32)

    def build_problem(self, wrench: Array) -> QuadraticProgram:
        """The programme whose solution is the thrust of least propellant, where the wrench is in reach."""
        upper, lower = np.concatenate([self._available, wrench]), np.concatenate([self._nothing, wrench])
        return QuadraticProgram(self._smoothness, self._cost, self._matrix, upper, lower, self._sense)

    def build_nearest(self, wrench: Array) -> QuadraticProgram:
        """The programme whose solution gives the nearest wrench in reach."""
        pull = self._pull @ wrench
        return QuadraticProgram(self._nearness, pull, self._no_rows, self._available, self._nothing, self._no_sense)

    def share(self, wrench: Array) -> Array:
        """The thrust of each thruster [N] for this wrench on the root body.

        Raises
        ------
        SolveError
            Where the solver fails otherwise than by a wrench that is out of reach.
        """
        thrust = np.zeros(self._all)
        if not len(self._usable):
            return thrust
        solution = self.build_problem(wrench).solve()
        if solution.flag in OUT_OF_REACH:
            solution = self.build_nearest(wrench).solve()
        if not solution.found:
            raise SolveError("sharing of a wrench among thrusters", solution)
        thrust[self._usable] = np.minimum(np.maximum(solution.x, self._nothing), self._available)
        return thrust
