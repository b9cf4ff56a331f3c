"""Planned paths among three discs: how many of a fixed set are found, their processor time, and of warm ones.

The free-flyer goes from one random pose to another within 30 s, with discs of 0.12 to 0.3 m, none of which holds the
robot at an end. A plan counts only where its samples keep all limits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.result import Result
from granite.config.errors import InputError
from granite.config.loader import load
from granite.config.testbed import Testbed
from granite.controllers.behaviours.zone_check import ZoneCheck
from granite.controllers.model import ControlModel
from granite.controllers.planning.planner import Plan, Planner
from granite.controllers.planning.problem import PathLimits, PathNodes, PathTask

PROBLEMS = 50
_LIMITS, _NODES, _DURATION_S = PathLimits(0.8, 0.6, 0.5), 60, 30.0


def measure() -> Iterator[Result]:
    """Paths found, and their times."""
    cold, warm, found = [], [], 0
    for i, (bed, start, goal) in enumerate(problems(PROBLEMS)):
        planner = Planner(ControlModel(bed), _LIMITS, _NODES)
        plan, seconds = solved(planner, start, goal, None)
        if i:  # the first one builds the programme
            cold.append(seconds)
        if plan is not None:
            found += 1
            rng = np.random.default_rng(i)
            near = goal + np.append(rng.uniform(-0.05, 0.05, 2), [0.0, 0.0, 0.0])
            again, seconds = solved(planner, start, near, plan.nodes)
            warm += [seconds] if again is not None else []
    median, tenth = np.percentile(cold, [50, 90])
    yield Result("paths among 3 discs found", "of 50", found, None, "", "at least 46", found >= 46)
    yield Result("  processor time, median", "s", median, None, "", "at most 2", bool(median <= 2))
    yield Result("  90 %", "s", tenth, None, "", "at most 4", bool(tenth <= 4))
    again = float(np.median(warm))
    yield Result("  from a path to a target 5 cm away", "s", again, None, "", "at most 1", again <= 1)


def solved(planner: Planner, start: np.ndarray, goal: np.ndarray, near: PathNodes | None) -> tuple[Plan | None, float]:
    """The plan, or None, and its processor time [s]."""
    begin = time.process_time()
    try:
        plan = planner.plan(PathTask(start, goal, (_DURATION_S, _DURATION_S), 1.0, 0.0), near)
    except InputError:
        plan = None
    return plan, time.process_time() - begin


def problems(count: int) -> Iterator[tuple[Testbed, np.ndarray, np.ndarray]]:
    """Testbeds with discs, start and goal; always the same."""
    rng = np.random.default_rng(1)
    lower, upper = np.array([0.5, 0.5, -2.0, -1.5, -2.0]), np.array([3.1, 2.2, 2.0, 1.5, 2.0])
    while count:
        start, goal = rng.uniform(lower, upper), rng.uniform(lower, upper)
        discs = rng.uniform([0.4, 0.4, 0.12], [3.2, 2.3, 0.3], (3, 3)).tolist()
        zones = [
            {"name": f"disc{i}", "disc": {"position_m": [x, y], "radius_m": r}} for i, (x, y, r) in enumerate(discs)
        ]
        if np.hypot(*(goal - start)[:2]) < 0.8:
            continue
        bed = load("free-flyer", {"safety.keep_out": zones})
        try:
            check = ZoneCheck(ControlModel(bed), compiled=False)
            check.refuse([(0.0, start, np.zeros(5))])
            check.refuse([(0.0, goal, np.zeros(5))])
        except InputError:
            continue
        count -= 1
        yield bed, start, goal
