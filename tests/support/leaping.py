"""Simulated leaps and catches with an error of the velocity after the release."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite.config.loader import load
from granite.config.records import Array
from granite.logs.run_summary import Metrics
from granite.logs.summary import Summary
from granite.rt.loop.clock import VirtualClock
from granite.rt.loop.loop import Outcome
from granite.rt.run import Run

#: of the LEAP vehicle [kg]
MASS = 53.0
PUSH_S = 0.5
#: compiles the force on the base into the plant; the seed of a run draws another one
_EVENT = {"kind": "push", "at_s": 1e4, "duration_s": 1.0, "body": "base", "force_n": [0.1, 0.0]}


class _Rows:
    def __init__(self) -> None:
        self.rows: list[Array] = []

    def record(self, row: bytes) -> int:
        self.rows.append(np.frombuffer(row))
        return 0


def leapt(name: str, seed: int, error_m_s: float, changes: dict[str, Any] | None = None) -> tuple[Outcome, Metrics]:
    """A leap that is pushed by up to this velocity, in a direction that the seed draws, in the first half second."""
    bed = load(name, {**(changes or {}), "seed": seed, "simulation.events": [_EVENT]})
    rng = np.random.default_rng(seed)
    angle, size = rng.uniform(0, 2 * np.pi), error_m_s * np.sqrt(rng.uniform())
    force = MASS * size / PUSH_S * np.array([np.cos(angle), np.sin(angle)])
    run, sink = Run(bed), _Rows()
    assert run.lab is not None
    code = run.channels.column("/reference", "machine_state")
    fold = bed.behaviour.state_names.index("fold")  # type: ignore[attr-defined]
    advance, push, began = run.lab.advance, run.lab.push, []

    def pushed(t: float) -> None:
        if sink.rows[-1][code] == fold and not began:
            began.append(t)
        acts = bool(began) and t < began[0] + PUSH_S
        push("base", force.tolist() if acts else [0.0, 0.0])
        advance(t)

    run.lab.advance = pushed  # type: ignore[method-assign]
    outcome = run.execute(VirtualClock(), sink)
    summary = Summary(bed, run.channels)
    summary.update(np.array(sink.rows))
    return outcome, summary.result()


def worst(metrics: list[Metrics]) -> tuple[float, float]:
    """Largest miss [m] and relative speed [m/s] of all catches."""
    catches = [catch for metric in metrics for catch in metric["catches"]]
    return max(c["miss_m"] for c in catches), max(c["speed_m_s"] for c in catches)
