"""The driver of a study: asks for trials in rounds of fixed size, has them run, and tells the results in their order.

One process alone writes the study. A trial whose first scenario is hopeless is not run in the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.loader import to_json
from granite.config.testbed import Testbed
from granite.config.tuning import TuningTable
from granite.tuning.measures import Band, goals_of
from granite.tuning.results import best_of
from granite.tuning.scenarios import Scenario, scenarios_of
from granite.tuning.study import AskedTrial, TrialResult, TuningStudy
from granite.tuning.trial import Case, RunScore, Score, judge, score
from granite.tuning.worker_processes import Workers

#: hopeless: every objective of the first scenario is worse than this part of the others, of which there are so many
_HOPELESS, _OTHERS = 0.75, 8
#: trials without a single result, after which there will be none
_FRUITLESS = 16


class Progress(NamedTuple):
    """What is known after a round."""

    told: int
    total: int
    best: TrialResult | None
    left_s: float  #: time until the end, by that of the trials so far


def drive(
    bed: Testbed,
    table: TuningTable,
    study: TuningStudy,
    workers: Workers,
    report: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Run the study to its last trial, from where it is; after Ctrl-C everything that was told is in it.

    Raises
    ------
    InputError
        Where no trial has a result.
    """
    scenarios = scenarios_of(bed, table)
    if study.told < table.trials:
        study.rewind()
    first_told, began = study.told, time.monotonic()
    while (told := study.told) < table.trials:
        _refuse_fruitless(study.results())
        asked = [study.ask(number) for number in range(told, min(told + table.round_size, table.trials))]
        _run_round(bed, table, study, workers, scenarios, asked)
        study.keep()
        results = study.results()
        spent = time.monotonic() - began
        left = spent / (len(results) - first_told) * (table.trials - len(results))
        report(Progress(len(results), table.trials, best_of(table, results), left))
    if not any(result.objectives for result in study.results()):
        raise _no_result(study.results())


def _run_round(
    bed: Testbed,
    table: TuningTable,
    study: TuningStudy,
    workers: Workers,
    scenarios: Sequence[Scenario],
    asked: Sequence[AskedTrial],
) -> None:
    """Run the first scenario of every trial, then the others of those that are not hopeless; tell in order."""
    content = to_json(bed)
    goals = goals_of(table)
    band = Band(table.settled_m, table.settled_rad)

    def case(trial: AskedTrial, scenario: Scenario) -> Case:
        return Case(content, goals, band, {**scenario.changes, **trial.values})

    first, *others = scenarios
    judged = [{first.name: one} for one in workers.answers(judge, [case(trial, first) for trial in asked])]
    before = study.first_scenarios() if others else np.zeros((0, len(table.objectives)))
    verdicts = [_hopeless(table, one[first.name], before) for one in judged]
    going_on = [i for i, verdict in enumerate(verdicts) if verdict is None and others]
    cases = [case(asked[i], scenario) for i in going_on for scenario in others]
    answers = iter(list(workers.answers(judge, cases)) if cases else [])
    for i in going_on:
        judged[i] |= {scenario.name: next(answers) for scenario in others}
    for trial, one, verdict in zip(asked, judged, verdicts, strict=True):
        result = score(table, one) if verdict is None else Score([], [], [], f"{first.name}: {verdict}")
        study.tell(trial, result, one[first.name].values[: len(table.objectives)])


def _hopeless(table: TuningTable, judged: RunScore, before: np.ndarray) -> str | None:
    """Why a trial is not run in the other scenarios, if it is not."""
    if judged.failure is not None:
        return judged.failure
    n = len(table.objectives)
    values = np.array(judged.values[:n])
    if not np.isfinite(judged.values).all() or len(before) < _OTHERS:
        return None
    sign = np.array([1.0 if goal.direction == "minimise" else -1.0 for goal in table.objectives])
    if np.all(sign * values > np.quantile(sign * before, _HOPELESS, axis=0)):
        return f"pruned, every objective is worse than in {_HOPELESS:.0%} of the trials"
    return None


def _refuse_fruitless(results: Sequence[TrialResult]) -> None:
    if len(results) >= _FRUITLESS and not any(result.objectives for result in results):
        raise _no_result(results)


def _no_result(results: Sequence[TrialResult]) -> InputError:
    # Not as an expectation: the failure may have one of its own.
    needed = "objectives and constraints must be finite in runs that reach their end, for some parameters"
    problem = f"none of {len(results)} trials has a result ({needed}); the first: {results[0].failure}"
    return InputError(problem, key="tuning")
