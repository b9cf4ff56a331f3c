"""Workers that answer at once, with a bowl instead of a run: for what concerns the study alone."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from granite.config.loader import load
from granite.config.tuning import TuningTable
from granite.tuning.trial import Case, RunScore

STIFFNESS = "controller.law.gains.base.stiffness_1_s2"
DAMPING = "controller.law.gains.base.damping_1_s"
BED = load("free-flyer", {"loop.duration_s": 1.0})


def table(**others: Any) -> TuningTable:
    return TuningTable.model_validate(
        {
            "parameters": [{"key": STIFFNESS, "start": 0.05}, {"key": DAMPING, "start": 6.0}],
            "objectives": [{"of": "rms_error_m"}, {"of": "propellant_n_s"}],
            "trials": 16,
            **others,
        }
    )


class Bowl:
    """The first objective is least at stiffness 1, the second at 3; `dies_after` answers, as by Ctrl-C."""

    def __init__(self, dies_after: float = math.inf) -> None:
        self.left, self.cases = dies_after, 0

    def answers(self, work: object, cases: Sequence[Case]) -> Iterator[RunScore]:
        for case in cases:
            if self.left <= 0:
                raise KeyboardInterrupt
            self.left -= 1
            self.cases += 1
            k, d = (math.log(case.changes[key]) for key in (STIFFNESS, DAMPING))
            seed = case.changes["seed"]
            values = [k**2 + 0.1 * d**2 + 0.01 * seed, (k - math.log(3)) ** 2 + 0.1 * d**2]
            yield RunScore(values[: len(case.goals)] + [k] * (len(case.goals) - 2))
