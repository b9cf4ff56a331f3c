"""The plant before a rehearsed run starts: somebody holds the robot at its start, and its sensors measure it there."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite.mrds.tolerances import SAME_STEP
from granite.sim.plant.plant import Observer, Plant


class HeldPlant:
    """A plant that stays where it is while its time goes on; for sensors only."""

    def __init__(self, plant: Plant) -> None:
        self._plant = plant
        self.observers: list[Observer] = []
        self._row = np.concatenate([plant.q, plant.u])
        self._steps = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plant, name)

    def advance(self, t: float) -> None:
        """Let time go on; observers see the same state in each step."""
        last = int(t / self._plant.step_s + SAME_STEP)
        n = last - self._steps
        if n > 0:
            self._steps = last
            path = np.broadcast_to(self._row, (n, len(self._row)))
            for observer in self.observers:
                observer.observe(last, path)
