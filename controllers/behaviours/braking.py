"""Braking to rest with bounded deceleration, then holding the pose; no part that a testbed names.

From the estimate when it begins, velocities that act together come to rest along their direction, with a constant
deceleration:

    q = q0 + u0 s - a s^2 / 2,   u = u0 - a s,   s = min(t - t0, |u0|/a)

Velocities that no actuator acts on have the estimate of the beginning as their reference.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from granite.config.records import Array, Reference, State
from granite.controllers.behaviours.tasks import interrupted
from granite.controllers.model import ControlModel
from granite.controllers.run_modes.decelerations import braked, decelerations
from granite.kernels.compilation import compile_once

#: speeds below which a coordinate is at rest, by its unit
_AT_REST = {"m/s": 0.005, "rad/s": 0.02}
#: a brake takes this long at least, so that a small velocity does not end by a step of the force
_SHORTEST_S = 0.25


class Braking:
    """The reference of a robot that stops where it is; it begins again with every `begin`."""

    def __init__(self, model: ControlModel) -> None:
        self._braked = braked(model)
        self._inertia = compile_once("inertia", model.bed.fingerprint, lambda: [inertia_function(model)])["inertia"].run
        self._slow = np.full(model.n, np.inf)
        for one in self._braked:
            for i in one.indices:
                self._slow[i] = _AT_REST.get(model.layout.velocities[i].unit, np.inf)
        self._rest: Array = np.zeros(model.n)
        #: for a law that follows tasks
        self._task = interrupted(model.bed, (i for one in self._braked for i in one.indices))
        self._direct: tuple[Array, ...] = ()
        self._t0: float | None = None
        self._q, self._u = self._rest, self._rest
        #: deceleration of each velocity and when it has come to rest [s after the beginning]
        self._a, self._ends = self._rest, self._rest

    def begin(self, direct: tuple[Array, ...]) -> None:
        """Brake from the next state on; set points of grips stay as they are."""
        self._t0, self._direct = None, direct

    def decide(self, state: State) -> Reference:
        """The reference at the time of the state; until it is ready, the estimate."""
        if self._t0 is None:
            if not state.ready:
                rest = self._rest
                return Reference(state.t, np.nan_to_num(state.q), rest, rest, False, self._direct, self._task)
            self._start(state)
        assert self._t0 is not None
        s = np.minimum(state.t - self._t0, self._ends)
        moving = state.t - self._t0 < self._ends
        q, u = self._q + (self._u - 0.5 * self._a * s) * s, np.where(moving, self._u - self._a * s, 0.0)
        return Reference(state.t, q, u, np.where(moving, -self._a, 0.0), False, self._direct, self._task)

    def is_at_rest(self, state: State) -> bool:
        """Whether the brake is over, and the estimate is slow enough."""
        if self._t0 is None or state.t - self._t0 < self._ends.max(initial=0.0):
            return False
        return self.is_slow(state)

    def is_slow(self, state: State) -> bool:
        """Whether the estimate is slow enough to count as rest."""
        return bool((np.abs(state.u) <= self._slow).all())

    def most(self, q: Array) -> Array:
        """Deceleration of each velocity at a pose [m/s^2 or rad/s^2]; zero: it is left alone."""
        return decelerations(self._braked, self._inertia((q,)))

    def _start(self, state: State) -> None:
        self._t0, self._q, moving = state.t, state.q, np.isfinite(self._slow)
        self._u = np.where(moving, state.u, 0.0)
        most = self.most(state.q)
        self._ends = np.zeros(len(most))
        for one in self._braked:
            i = list(one.indices)
            self._ends[i] = max(float(np.linalg.norm(self._u[i])) / most[i[0]], _SHORTEST_S)
        self._a = np.divide(self._u, self._ends, out=np.zeros(len(most)), where=self._ends > 0)


def inertia_function(model: ControlModel) -> ca.Function:
    """(q) -> diagonal of the mass matrix."""
    return ca.Function("inertia", [model.q], [ca.diag(model.mass_matrix)])
