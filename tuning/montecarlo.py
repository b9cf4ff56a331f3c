"""Monte Carlo: a testbed with many seeds and random plants, in each of its scenarios.

Run i of every scenario has the same seed and the same random plant, so that scenarios can be compared run by run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from granite.config.errors import InputError
from granite.config.loader import plant_of, to_json
from granite.config.testbed import Testbed
from granite.rt.run_in_memory import simulate_in_memory
from granite.sim.lab import Lab
from granite.tuning.measures import Goals, Measures, chosen_goals
from granite.tuning.scenarios import NOMINAL, RandomPlants, variations_of
from granite.tuning.toml_text import toml_value
from granite.tuning.trial import Case, judge
from granite.tuning.worker_processes import Workers

#: separates random plants of these runs from those of tuning
_MONTE_CARLO = 2


class DrawnRun(NamedTuple):
    """One run: its scenario, its changes, and its numbers or why there are none."""

    scenario: str
    seed: int
    changes: dict[str, Any]
    values: list[float]
    failure: str | None


@dataclass
class MonteCarlo:
    """All runs, and the metrics by which they are judged."""

    bed: Testbed
    goals: Goals
    runs: list[DrawnRun] = field(default_factory=list)

    @property
    def metrics(self) -> list[str]:
        """The expressions."""
        return [text for _, text in self.goals]

    @property
    def scenarios(self) -> list[str]:
        """In their order."""
        return list(dict.fromkeys(run.scenario for run in self.runs))

    def values(self, metric: int, scenario: str | None = None) -> np.ndarray:
        """The numbers of a metric, of the runs that have them."""
        runs = [run for run in self.runs if run.values and scenario in (None, run.scenario)]
        values = np.array([run.values[metric] for run in runs], dtype=float)
        return np.asarray(values[np.isfinite(values)])

    def less_is_worse(self, metric: int) -> bool:
        """Whether a metric is a margin."""
        return self.metrics[metric].startswith("margin")

    def worst(self, metric: int, number: int = 1) -> list[DrawnRun]:
        """The runs with the worst values: the largest, of a margin the smallest."""
        sign = 1.0 if self.less_is_worse(metric) else -1.0
        runs = [run for run in self.runs if run.values and np.isfinite(run.values[metric])]
        return sorted(runs, key=lambda run: sign * run.values[metric])[:number]

    def failures(self) -> Counter[str]:
        """Why runs have no numbers, and how often."""
        return Counter(run.failure for run in self.runs if run.failure is not None)

    def refuse_without_numbers(self) -> None:
        """Raise where a metric is finite in none of the runs that reached their end."""
        ended = sum(bool(run.values) for run in self.runs)
        for i, (key, text) in enumerate(self.goals):
            if ended and not len(self.values(i)):
                problem = f"finite in none of {ended} runs that reached their end"
                expected = "an expression that is finite in some"
                raise InputError(problem, file=self.bed.name, key=key, value=text, expected=expected)

    def drawn(self, run: DrawnRun) -> str:
        """What was drawn for a run, in words: changes of its plant, offsets and gains of its devices, and noise."""
        changes = [f"{key} = {toml_value(value, math.inf)}" for key, value in run.changes.items() if key != "seed"]
        constants = Lab(self.bed.with_changes(run.changes)).drawn_constants().items()
        offsets = [f"{name} {value:+.3g} {unit}".rstrip() for name, (value, unit) in constants]
        return f"{', '.join([*changes, *offsets])} and noise" if changes or offsets else "noise alone"

    def largest_errors(self, run: DrawnRun) -> list[tuple[float, str, float, str]]:
        """When the error of a run is largest: time, coordinate, error and unit, of lengths and of angles.

        The run is made again.
        """
        bed = self.bed.with_changes(run.changes)
        log = simulate_in_memory(bed, keep=False)
        controlled = log.summary.get("tracking_error", {}) if log.summary else {}
        t, ready, largest = (
            log["/sample"]["t_s"],
            log["/state"]["ready"] == 1.0,
            dict[str, tuple[float, str, float, str]](),
        )
        for c in bed.known.positions:
            if c.name in controlled:
                error = np.where(ready, np.abs(log["/truth"][c.key] - log["/reference"][c.key]), 0.0)
                i = int(np.argmax(error))
                if c.unit not in largest or error[i] > largest[c.unit][2]:
                    largest[c.unit] = float(t[i]), c.name, float(error[i]), c.unit
        return list(largest.values())

    def options(self, run: DrawnRun) -> list[str]:
        """The options with which `granite sim` of the same testbed makes a run again, as a full log."""
        changes = [f"{key}={toml_value(value, math.inf)}" for key, value in run.changes.items() if key != "seed"]
        return ["--seed", str(run.seed), *(word for change in changes for word in ("--set", change))]


def monte_carlo(
    bed: Testbed,
    runs: int,
    workers: Workers,
    *,
    metrics: Sequence[str] = (),
    first_seed: int = 1,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> MonteCarlo:
    """Run a testbed many times.

    Parameters
    ----------
    bed
        The testbed; its `tuning` table may have scenarios and a spread of the plant.
    runs
        How many in each scenario.
    workers
        Where they are made.
    metrics
        Expressions as of objectives; none: the objectives and constraints of the testbed, or the usual ones.
    first_seed
        Seeds count from here.
    report
        Called with the number of runs done, and of all.

    Raises
    ------
    InputError
        Where there is no such metric, or a scenario does not fit.
    """
    table = bed.tuning
    judged, band = chosen_goals(bed, metrics)
    Measures(bed, judged, band)
    plant_of(bed)  # else every run would fail by the same fault
    variations = variations_of(bed, table.model_copy(update={"plants": 0})) if table else {NOMINAL: {}}
    drawn: list[tuple[str, int, dict[str, Any]]] = []
    for name, changes in variations.items():
        plants = RandomPlants(bed, table, changes, _MONTE_CARLO) if table else None
        if plants is not None:
            plants.refuse_unfit(0)  # the others differ in values alone: one that does not fit is a run without a result
        for i in range(runs):
            plant = plants.changes(i) if plants is not None else {}
            drawn.append((name, first_seed + i, {**changes, **plant, "seed": first_seed + i}))
    result = MonteCarlo(bed, judged)
    content = to_json(bed)
    cases = [Case(content, judged, band, changes) for _, _, changes in drawn]
    for (name, seed, changes), answer in zip(drawn, workers.answers(judge, cases), strict=True):
        result.runs.append(DrawnRun(name, seed, changes, answer.values, answer.failure))
        report(len(result.runs), len(drawn))
    return result
