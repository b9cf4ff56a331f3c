"""A plant whose motion is prescribed, for devices that are to be judged against an exact motion."""

from collections.abc import Callable

import numpy as np

from config.records import Array


class PrescribedMotion:
    """Answers devices as the plant does, with q(t) and u(t) given."""

    def __init__(self, step_s: float, q: Callable[[float], Array], u: Callable[[float], Array]) -> None:
        self.step_s = step_s
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

    def advance(self, t: float) -> None:
        while (self._steps + 1 - 1e-6) * self.step_s <= t:
            self._steps += 1
            for observer in self.observers:
                observer.observe(self.t, self.q, self.u)
