"""The `[tuning]` table: what a tuning session changes, what it judges, and over which scenarios.

It stands in a testbed or in a file of its own, is no part of a run, and so is in no log.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from granite.config.base import Positive, Table, refuse_twice
from granite.config.errors import InputError
from granite.config.tunable import Scale

_WORD = re.compile(r"[a-z][a-z0-9_-]*")
Sampler = Literal["tpe", "cma_es", "nsga_ii"]


def _one_sentence(value: Any, checked: ValidatorFunctionWrapHandler) -> Any:
    """One refusal for all kinds of a score: each kind has its own, below a key that no user types."""
    try:
        return checked(value)
    except ValidationError:
        raise InputError(expected="'mean', 'worst' or a quantile between 0 and 1, such as 0.9") from None


ScoreRule = Annotated[Literal["mean", "worst"] | Annotated[float, Field(gt=0, lt=1)], WrapValidator(_one_sentence)]


class TunedParameter(Table):
    """A numeric key of the testbed, and the range in which its value is looked for."""

    key: str  #: of the testbed, a number
    #: may be left out where the part declares them: granite tune BED --list
    lower: float | None = None
    upper: float | None = None  #: upper bound; the part's own where it is left out
    scale: Scale | None = None  #: how values are spread over the range
    #: value of the first trial; none: that of the testbed
    start: float | None = None

    @model_validator(mode="after")
    def _bounds_leave_room(self) -> TunedParameter:
        lower, upper = self.lower, self.upper
        if lower is not None and upper is not None and lower >= upper:
            raise InputError(key="lower", value=lower, expected=f"less than upper = {upper:g}")
        if self.scale == "log" and lower is not None and lower <= 0:
            raise InputError(key="lower", value=lower, expected="more than 0, because scale = 'log'")
        return self


class TuningGoal(Table):
    """A number that is found from the log of each run: an expression of metrics and signals."""

    #: such as `propellant_n_s`, `rms_error.base_x` or `max(abs(demand.wrench_fx_n))`
    of: str
    #: how it is called; default: the expression
    name: str | None = None

    @property
    def label(self) -> str:
        """The name, or the expression."""
        return self.name or self.of


class TuningObjective(TuningGoal):
    """A number to be made small, or large."""

    direction: Literal["minimise", "maximise"] = "minimise"  #: whether small or large is good


class TuningConstraint(TuningGoal):
    """A number that must stay within bounds."""

    lower: float | None = None  #: least value that is allowed
    upper: float | None = None  #: largest value that is allowed

    @model_validator(mode="after")
    def _has_a_bound(self) -> TuningConstraint:
        if self.lower is None and self.upper is None:
            raise InputError.missing("upper", "a bound, upper or lower")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise InputError(key="lower", value=self.lower, expected=f"less than upper = {self.upper:g}")
        return self


class PlantSpread(Table):
    """A key of the plant that differs from the controller's model by a random part of its value, uniformly."""

    key: str  #: of the testbed
    relative: Annotated[float, Field(gt=0, lt=1)]  #: largest part of its value


class TuningTable(Table):
    """A tuning session: parameters, objectives, constraints, scenarios."""

    parameters: tuple[TunedParameter, ...] = Field(min_length=1, max_length=100)  #: keys that are tuned
    objectives: tuple[TuningObjective, ...] = Field(min_length=1, max_length=5)  #: numbers to be made small or large
    constraints: tuple[TuningConstraint, ...] = ()  #: numbers that must stay within bounds
    #: TPE, CMA-ES (one objective) or NSGA-II
    sampler: Sampler = "tpe"
    trials: Annotated[int, Field(ge=1, le=1_000_000)] = 100  #: number of trials
    #: trials that are asked for at once: the study depends on it, but not on the number of processes
    round_size: Annotated[int, Field(ge=1, le=1000)] = 4
    #: of the sampler
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 1
    #: of the simulated lab: every scenario runs with each of them
    seeds: tuple[Annotated[int, Field(ge=0, lt=2**64)], ...] = Field(default=(1,), min_length=1)
    #: how the results of the scenarios become one number: mean, worst, or a quantile such as 0.9
    score: ScoreRule = "mean"
    #: changes to the testbed by name, as in variants: plants, behaviours, faults; none: the testbed as it is
    scenarios: dict[str, dict[str, Any]] = Field(default_factory=dict)
    #: what differs at random between the plant and the model
    spread: tuple[PlantSpread, ...] = ()
    #: number of random plants, each a scenario of its own beside those named
    plants: Annotated[int, Field(ge=0, le=1000)] = 0
    #: errors within which a move has settled
    settled_m: Positive = 0.005
    settled_rad: Positive = 0.01  #: the same for angles
    #: changes to the testbed for all runs, as of a scenario: a shorter move, say
    changes: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_together(self) -> TuningTable:
        refuse_twice("parameters", "key", [parameter.key for parameter in self.parameters])
        refuse_twice("objectives", "objective", [goal.label for goal in self.objectives])
        refuse_twice("constraints", "constraint", [goal.label for goal in self.constraints])
        refuse_twice("spread", "key", [one.key for one in self.spread])
        refuse_twice("seeds", "seed", [str(seed) for seed in self.seeds])
        for name in self.scenarios:
            if not _WORD.fullmatch(name):
                raise InputError(key=f"scenarios.{name}", expected="a name of small letters, digits, _ and -")
        if self.plants and not self.spread:
            raise InputError.missing("spread", "what differs between the plants")
        if self.sampler == "cma_es" and len(self.objectives) > 1:
            expected = "'tpe' or 'nsga_ii' where there are several objectives"
            raise InputError(key="sampler", value=self.sampler, expected=expected)
        if self.sampler == "cma_es" and self.constraints:
            raise InputError(
                key="sampler", value=self.sampler, expected="'tpe' or 'nsga_ii' where there are constraints"
            )
        return self


class TuningFile(Table):
    """A file with nothing but the table."""

    tuning: TuningTable
