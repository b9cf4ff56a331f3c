"""One comparison: ours, the peer's or none, their ratio, the goal, and whether it is met."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


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


def side_by_side(calls: dict[str, Callable[[], object]], number: int = 500, rounds: int = 100) -> dict[str, float]:
    """Least processor time of a call [s] of each, over short rounds in turns: other programs only lengthen a round."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.process_time()
            for _ in range(number):
                call()
            times[name].append((time.process_time() - began) / number)
    return {name: min(t) for name, t in times.items()}
