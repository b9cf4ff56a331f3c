"""Predictive control beside computed torque in the honest lab: errors, propellant, constraints and solve times.

`python -m benchmarks prediction` flies each law with seeds that no weight was chosen on, solves 100 000 random states,
and gives ATMOS beside the horizon that its authors run (49 steps at 10 Hz; px4-mpc).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.result import Result
from granite.config.loader import load
from granite.config.records import Reference, State
from granite.config.testbed import Testbed
from granite.controllers.laws.predictive import PredictiveControl
from granite.controllers.stack import build_stack
from granite.logs.log import Log
from granite.rt.run_in_memory import simulate_in_memory

FIRST_SEED, SEEDS, STATES = 5001, 10, 100_000
PREDICTIVE = {"controller.law": {"kind": "predictive"}}
ARM = {"controller.law": {"kind": "predictive", "joints": {"stiffness_1_s2": 100.0, "damping_1_s": 20.0}}}
#: 10 Hz and 49 steps, as px4-mpc
AUTHORS = {"controller.law": {"kind": "predictive", "steps": 49, "step_s": 0.1, "solve_s": 0.1}}
FLIGHTS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "free-flyer, computed torque": ("free-flyer", {}),
    "free-flyer, predictive": ("free-flyer", ARM),
    "atmos, computed torque": ("atmos", {}),
    "atmos, predictive": ("atmos", PREDICTIVE),
    "atmos, predictive, 49 steps at 10 Hz": ("atmos", AUTHORS),
}


def measure() -> Iterator[Result]:
    """Flights, then solves."""
    for name, (bed, changes) in FLIGHTS.items():
        flights = [fly(load(bed, {**changes, "seed": FIRST_SEED + i})) for i in range(SEEDS)]
        completed = [numbers for numbers in flights if numbers is not None]
        mm, mrad = np.percentile([numbers[:2] for numbers in completed], 95, axis=0) * 1e3
        yield Result(f"{name}: completed", f"of {SEEDS}", len(completed), None, "", "", None)
        yield Result("  error of the last 5 s, 95 %", "mm", mm, None, "", "", None)
        yield Result("  the same", "mrad", mrad, None, "", "", None)
        yield Result("  impulse, mean", "N s", float(np.mean([n[2] for n in completed])), None, "", "", None)
    for name, bed, changes, states in (
        ("free-flyer", "free-flyer", ARM, STATES),
        ("atmos, 49 steps", "atmos", AUTHORS, STATES // 100),
    ):
        seconds, failed = solves(load(bed, changes), states)
        at = np.percentile(seconds, [50, 99, 100]) * 1e3
        yield Result(f"{name}: solve of {states} states, median", "ms", at[0], None, "", "", None)
        yield Result("  99 %", "ms", at[1], None, "", "at most 4" if states == STATES else "", None)
        yield Result("  worst", "ms", at[2], None, "", "", None)
        yield Result("  not solved", "", failed, None, "", "0", failed == 0)


def fly(bed: Testbed) -> tuple[float, float, float] | None:
    """Errors of position [m] and heading [rad] in the last 5 s, and impulse [N s]; None of a run that ended early."""
    log: Log = simulate_in_memory(bed)
    summary: Any = log.summary
    if summary["ended"] != "completed":
        return None
    last = {name: error["max_in_last_5_s"] for name, error in summary["tracking_error"].items()}
    x, y, heading = (last[f"base_{axis}"] for axis in ("x", "y", "heading"))
    return float(np.hypot(x, y)), float(heading), float(summary["propellant"]["impulse_n_s"])


def solves(bed: Testbed, states: int) -> tuple[list[float], int]:
    """Processor time of building and solving the programme of random states [s], and how many were not solved."""
    law, rng = build_stack(bed).law, np.random.default_rng(0)
    assert isinstance(law, PredictiveControl)
    n, (x0, y0, x1, y1) = len(bed.known.positions), bed.safety.table_m or (0.0, 0.0, 1.0, 1.0)
    seconds, failed, zero = [], 0, np.zeros(n)
    for _ in range(states):
        q, u = rng.uniform(-np.pi, np.pi, n), rng.normal(size=n) * 0.05
        q[:2] = rng.uniform((x0, y0), (x1, y1))
        goal = q + rng.normal(size=n) * 0.03
        reference = Reference(0.0, goal, 0.05 * rng.normal(size=n), zero, False)
        state = State(0.0, True, q, u, zero, np.zeros(len(bed.sensors)), disturbance=zero)
        begin = time.process_time()
        solution = law.solve(state, reference, lambda times: None)
        seconds.append(time.process_time() - begin)
        failed += not solution.is_optimal
    return seconds, failed
