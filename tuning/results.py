"""The results of a study: the best trial, and the Pareto front of several objectives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from granite.config.tuning import TuningTable
from granite.tuning.study import TrialResult


def front_of(table: TuningTable, results: Sequence[TrialResult]) -> list[TrialResult]:
    """The feasible trials that no other one is better than in every objective, by the first objective.

    Of one objective, that is the best trial. Where no trial is feasible, those are compared that have results.
    """
    candidates = _compared(results)
    costs = _costs(table, candidates)
    front = []
    for i, cost in enumerate(costs):
        better = np.all(costs <= cost, axis=1) & np.any(costs < cost, axis=1)
        same_before = np.all(costs[:i] == cost, axis=1)
        if not better.any() and not same_before.any():
            front.append((tuple(cost), candidates[i]))
    return [result for _, result in sorted(front, key=lambda pair: pair[0])]


def best_of(table: TuningTable, results: Sequence[TrialResult]) -> TrialResult | None:
    """The best trial; of several objectives the one of the front nearest to the best of each.

    Distances are relative to the extent of the front in each objective.
    """
    front = front_of(table, results)
    if not front:
        return None
    costs = _costs(table, front)
    extent = np.ptp(costs, axis=0)
    distance = np.linalg.norm((costs - costs.min(axis=0)) / np.where(extent > 0, extent, 1.0), axis=1)
    return front[int(np.argmin(distance))]


def ranked(table: TuningTable, results: Sequence[TrialResult]) -> list[TrialResult]:
    """The trials worth showing, the best first: of one objective all by its value, of several the front."""
    if len(table.objectives) > 1:
        return front_of(table, results)
    candidates = _compared(results)
    order = np.argsort(_costs(table, candidates)[:, 0], kind="stable")
    return [candidates[i] for i in order]


def _compared(results: Sequence[TrialResult]) -> list[TrialResult]:
    """The feasible trials; where there is none, those that have results."""
    judged = [result for result in results if result.objectives]
    return [result for result in judged if result.is_feasible] or judged


def _costs(table: TuningTable, results: Sequence[TrialResult]) -> np.ndarray:
    """The objectives with the sign that makes small good, one row each."""
    sign = np.array([1.0 if goal.direction == "minimise" else -1.0 for goal in table.objectives])
    values = np.array([result.objectives for result in results]).reshape(len(results), len(sign))
    return np.asarray(sign * values)
