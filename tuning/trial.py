"""One run of a trial, as a worker makes it, and the score of a trial over all of its runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from granite.config.errors import GraniteError
from granite.config.loader import from_json
from granite.config.testbed import Testbed
from granite.config.tuning import TuningTable
from granite.rt.run_in_memory import simulate_in_memory
from granite.tuning.measures import Band, Goals, Measures


class Case(NamedTuple):
    """What a worker needs for one run: everything is text and numbers, so that any process can take it."""

    bed: str  #: JSON of the testbed
    goals: Goals
    band: Band
    changes: dict[str, Any]  #: parameters and scenario


class RunScore(NamedTuple):
    """The numbers of one run: objectives, then constraints; or why there are none."""

    values: list[float]
    failure: str | None = None


def judge(case: Case) -> RunScore:
    """Run a case and measure it; a run that can't be made or did not reach its end has no numbers."""
    bed, measures = _prepared(case.bed, case.goals, case.band)
    try:
        log = simulate_in_memory(bed.with_changes(case.changes), keep=False)
    except GraniteError as error:
        return RunScore([], str(error))
    assert log.summary is not None
    if log.summary["ended"] != "completed":
        at = log.summary.get("ended_at_s", math.nan)
        return RunScore([], f"ended at {at:.2f} s by {log.summary['ended']}: {log.summary['text']}")
    return RunScore(measures.values(log))


@lru_cache(maxsize=2)
def _prepared(bed: str, goals: Goals, band: Band) -> tuple[Testbed, Measures]:
    """Once for each worker and session."""
    testbed = from_json(bed)
    return testbed, Measures(testbed, goals, band)


class Score(NamedTuple):
    """The result of a trial."""

    objectives: list[float]
    #: at most zero where the constraint holds
    violations: list[float]
    constraints: list[float]
    failure: str | None = None

    @property
    def is_feasible(self) -> bool:
        """Whether all constraints hold."""
        return all(violation <= 0 for violation in self.violations)


def score(table: TuningTable, judged: Mapping[str, RunScore]) -> Score:
    """The result of a trial from that of its scenarios; the first scenario without numbers is its failure."""
    for name, one in judged.items():
        if one.failure is not None:
            return Score([], [], [], f"{name}: {one.failure}")
    n = len(table.objectives)
    columns = np.array([one.values for one in judged.values()])
    goals = (*table.objectives, *table.constraints)
    for i, name in [(i, name) for i in range(len(goals)) for name in judged]:
        if not math.isfinite(judged[name].values[i]):
            return Score([], [], [], f"{name}: {goals[i].label} is {judged[name].values[i]}")
    objectives = [
        combined(columns[:, i], table.score, largest_is_worst=goal.direction == "minimise")
        for i, goal in enumerate(table.objectives)
    ]
    constraints, violations = [], []
    for i, bound in enumerate(table.constraints):
        # A bound is to hold in the worst scenario, unless a quantile is asked for; the worse side counts.
        how = "worst" if table.score == "mean" else table.score
        sides = []
        if bound.upper is not None:
            sides.append((combined(columns[:, n + i], how, True), 1.0, bound.upper))
        if bound.lower is not None:
            sides.append((combined(columns[:, n + i], how, False), -1.0, bound.lower))
        value, sign, limit = max(sides, key=lambda side: side[1] * (side[0] - side[2]))
        constraints.append(value)
        violations.append(sign * (value - limit))
    return Score(objectives, violations, constraints)


def combined(values: Sequence[float] | np.ndarray, how: str | float, largest_is_worst: bool) -> float:
    """Mean, worst or quantile; a quantile of 0.9 is as good as 90 % of the scenarios or better."""
    if how == "mean":
        return float(np.mean(values))
    if how == "worst":
        return float(np.max(values) if largest_is_worst else np.min(values))
    return float(np.quantile(values, float(how) if largest_is_worst else 1 - float(how)))
