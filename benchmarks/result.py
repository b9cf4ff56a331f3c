"""One comparison: ours, the peer's or none, their ratio, the goal, and whether it is met."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Result:
    """A measured number beside its peer. `met` is None where there was nothing to compare with."""

    name: str
    unit: str
    ours: float
    peer: float | None
    peer_name: str
    goal: str
    met: bool | None

    @property
    def ratio(self) -> float | None:
        return None if not self.peer else self.ours / self.peer

    def as_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "unit": self.unit,
            "ours": float(self.ours),
            "peer": None if self.peer is None else float(self.peer),
            "peer_name": self.peer_name,
            "ratio": None if self.ratio is None else float(self.ratio),
            "goal": self.goal,
            "met": None if self.met is None else bool(self.met),
        }


def side_by_side(calls: dict[str, Callable[[], object]], number: int = 2000, rounds: int = 25) -> dict[str, float]:
    """Median time of a call [s] of each, measured in turns so that load on the machine affects all alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            for _ in range(number):
                call()
            times[name].append((time.perf_counter() - began) / number)
    return {name: float(np.median(t)) for name, t in times.items()}
