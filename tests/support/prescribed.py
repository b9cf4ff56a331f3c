"""A plant whose motion is prescribed, for devices that are to be judged against an exact motion."""

from collections.abc import Callable

import numpy as np

from granite.config.records import Array
from granite.config.testbed import Testbed


class PrescribedMotion:
    """Answers devices as the plant does, with q(t) and u(t) given: a planar base and joints without rate filters."""

    def __init__(self, bed: Testbed, q: Callable[[float], Array], u: Callable[[float], Array]) -> None:
        self.bed, self.step_s = bed, bed.simulation.physics_step_s
        self.observers: list = []
        self._q, self._u = q, u
        self._steps = 0

    @property
    def t(self) -> float:
        return self._steps * self.step_s

    @property
    def q(self) -> Array:
        return np.asarray(self._q(self.t))

    @property
    def u(self) -> Array:
        return np.asarray(self._u(self.t))

    @property
    def joints(self) -> Array:
        return np.concatenate([self.q[3:], self.u[3:]])

    def advance(self, t: float) -> None:
        path = []
        while (self._steps + 1 - 1e-6) * self.step_s <= t:
            self._steps += 1
            path.append(np.concatenate([self.q, self.u]))
        for observer in self.observers if path else ():
            observer.observe(self._steps, np.array(path))
