"""The study of a session: Optuna's trials, asked for and told in the order of their numbers, kept in SQLite.

The sampler is seeded anew for each trial, from the seed of the session and the number of the trial. So a study does
not depend on which process finished first, nor on how often it was interrupted and resumed: what was asked for and not
told is asked for again, with the same answer. The study is worked on in memory and its finished trials are copied into
the file, because Optuna's own work on SQLite takes longer than a compiled run.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.tuning import TuningTable
from granite.tuning.parameters import SearchParameter
from granite.tuning.trial import Score

_NAME = "granite"
_FAILURE, _FIRST, _CONSTRAINTS = "failure", "first scenario", "constraints"
#: trials before a sampler that learns from others begins, and the size of a generation of NSGA-II
_RANDOM, _GENERATION = 10, 24


class TrialResult(NamedTuple):
    """A trial that has ended."""

    number: int
    parameters: dict[str, float | int]  #: by key, as the testbed takes them
    objectives: list[float]  #: empty where the trial failed or was pruned
    constraints: list[float]
    is_feasible: bool
    failure: str | None  #: why it has no objectives


class TuningStudy:
    """The trials of one session."""

    def __init__(self, file: Path, parameters: Sequence[SearchParameter], table: TuningTable) -> None:
        """The study in this file, or a new one with the start as its first trial."""
        import optuna  # slow, and not needed to read the commands

        self._optuna = optuna
        self._optuna.logging.set_verbosity(self._optuna.logging.ERROR)
        self._file = file
        self._parameters = list(parameters)
        self._table = table
        self._stored_study: Any = None
        self._begin(self._stored_trials())

    def _begin(self, trials: Sequence[Any]) -> None:
        """A study in memory with these trials."""
        self._study = self._optuna.create_study(directions=self._directions())
        self._study.add_trials(trials)
        if not trials:
            self._study.enqueue_trial({parameter.key: parameter.start for parameter in self._parameters})

    def rewind(self) -> None:
        """Back to the end of the last whole round: the trials after it are found again, and the rest of their round."""
        trials = self._study.get_trials(deepcopy=False)[: self.told]
        self._begin(trials[: len(trials) - len(trials) % self._table.round_size])

    @property
    def kept(self) -> int:
        """Number of trials in the file."""
        return len(self._stored_trials())

    def keep(self) -> None:
        """Copy the trials that have ended into the file."""
        with self._named():
            stored = self._stored()
            n = len(stored.get_trials(deepcopy=False))
            stored.add_trials(self._study.get_trials(deepcopy=False)[n : self.told])

    def _stored_trials(self) -> Sequence[Any]:
        """The trials in the file."""
        with self._named():
            return list(self._stored().get_trials(deepcopy=False)) if self._file.exists() else []

    def _stored(self) -> Any:
        """The study in the file, which is there when it is whole: others may read it at any time."""
        if self._stored_study is None:
            if not self._file.exists():
                new = self._file.with_suffix(".new")
                new.unlink(missing_ok=True)
                self._opened(new)[1].engine.dispose()
                new.rename(self._file)
            self._stored_study, _ = self._opened(self._file)
        return self._stored_study

    def _opened(self, file: Path) -> tuple[Any, Any]:
        """The study in a file, and its storage."""
        import sqlalchemy

        # Quoted, because a folder may have any name; Optuna fills in braces, which the quoting leaves none of.
        url = sqlalchemy.URL.create("sqlite", database=str(file))
        storage = self._optuna.storages.RDBStorage(url.render_as_string())
        study = self._optuna.create_study(
            storage=storage, study_name=_NAME, directions=self._directions(), load_if_exists=True
        )
        return study, storage

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of SQLAlchemy, Alembic and Optuna are those of one file; SQLite's own words say what is wrong."""
        try:
            yield
        except Exception as error:
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, sqlite3.Error | OSError):
                cause = cause.__cause__  # SQLAlchemy's error has that of SQLite, and Optuna's may have SQLAlchemy's
            words = f" ({cause})" if cause else ""
            expected = "the study of this session, as Granite and this version of Optuna wrote it"
            if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                expected = "some free space on the disk"
            raise InputError(f"'{self._file}' can't be used{words}", expected=expected) from error

    def _directions(self) -> list[str]:
        return ["minimize" if goal.direction == "minimise" else "maximize" for goal in self._table.objectives]

    @property
    def told(self) -> int:
        """Number of trials that have ended: all with smaller numbers have."""
        return sum(trial.state.is_finished() for trial in self._study.get_trials(deepcopy=False))

    def ask(self, number: int) -> AskedTrial:
        """The trial of that number, which is the next one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of features that Optuna calls experimental
            self._study.sampler = self._sampler(number)
            trial = self._study.ask()
            assert trial.number == number
            values = {parameter.key: self._suggested(trial, parameter) for parameter in self._parameters}
        return AskedTrial(number, values, trial)

    def tell(self, asked: AskedTrial, score: Score, first: Sequence[float]) -> TrialResult:
        """Record the result of a trial; `first` are the objectives of its first scenario, if it has them."""
        state = self._optuna.trial.TrialState
        trial = asked.handle
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._study.sampler = self._sampler(asked.number)
            trial.set_user_attr(_FIRST, list(first))
            if score.failure is not None:
                trial.set_user_attr(_FAILURE, score.failure)
                self._study.tell(trial, state=state.PRUNED)
                return TrialResult(asked.number, asked.values, [], [], False, score.failure)
            trial.set_user_attr(_CONSTRAINTS, score.constraints)
            for goal, violation in zip(self._table.constraints, score.violations, strict=True):
                trial.set_constraint(goal.label, violation)
            self._study.tell(trial, score.objectives)
        return TrialResult(asked.number, asked.values, score.objectives, score.constraints, score.is_feasible, None)

    def results(self) -> list[TrialResult]:
        """Every trial that has ended, by number."""
        results = []
        for trial in self._study.get_trials(deepcopy=False):
            if trial.state.is_finished():
                feasible = all(value <= 0 for value in trial.constraints.values())
                failure = trial.user_attrs.get(_FAILURE)
                objectives = [] if trial.values is None or failure else list(trial.values)
                constraints = trial.user_attrs.get(_CONSTRAINTS, [])
                parameters = {parameter.key: trial.params[parameter.key] for parameter in self._parameters}
                results.append(
                    TrialResult(trial.number, parameters, objectives, constraints, feasible and not failure, failure)
                )
        return results

    def first_scenarios(self) -> np.ndarray:
        """Objectives of the first scenario of every trial that has results, one row each."""
        state = self._optuna.trial.TrialState.COMPLETE
        trials = [t for t in self._study.get_trials(deepcopy=False) if t.state == state]
        rows = [trial.user_attrs[_FIRST] for trial in trials]
        return np.array(rows).reshape(len(rows), len(self._table.objectives))

    def importance(self, objective: int) -> dict[str, float]:
        """How much of the variation of an objective each parameter explains (PED-ANOVA), the sum is 1."""
        if sum(bool(result.objectives) for result in self.results()) < _RANDOM or len(self._parameters) < 2:
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluator = self._optuna.importance.PedAnovaImportanceEvaluator()
            importance = self._optuna.importance.get_param_importances(
                self._study, evaluator=evaluator, target=lambda trial: trial.values[objective]
            )
        return {str(key): float(value) for key, value in importance.items()}

    def _suggested(self, trial: Any, parameter: SearchParameter) -> float | int:
        low = parameter.lower
        high = parameter.upper
        log = parameter.scale == "log"
        if parameter.is_whole:
            return int(trial.suggest_int(parameter.key, int(low), int(high), log=log))
        return float(trial.suggest_float(parameter.key, low, high, log=log))

    def _sampler(self, number: int) -> Any:
        samplers = self._optuna.samplers
        seed = int(np.random.SeedSequence([self._table.seed, number]).generate_state(1)[0])
        if self._table.sampler == "cma_es":
            return samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
        if self._table.sampler == "nsga_ii":
            return samplers.NSGAIISampler(seed=seed, population_size=_GENERATION)
        return samplers.TPESampler(seed=seed, n_startup_trials=_RANDOM, multivariate=True, constant_liar=True)


class AskedTrial(NamedTuple):
    """A trial that is to be run."""

    number: int
    values: dict[str, float | int]  #: by key, as the testbed takes them
    handle: Any  #: of Optuna
