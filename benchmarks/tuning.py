"""Tuning of the free-flyer from poor gains: `python -m benchmarks.tuning --trials 500 --seeds 1 2 3 [--robust]`.

Prints the tables of docs/tuning.md. The first has one row for each seed of the sampler: the trial of the front whose
error and propellant are both nearest to the best known pair, as the larger of the two ratios to it. The best known
pair is that of the best trial of all rows. With `--robust`, tuning on 8 random plants is compared with tuning on the
nominal one, by 20 plants that neither has met.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from granite.config.loader import load, to_json
from granite.config.testbed import Testbed
from granite.config.tuning import PlantSpread, TuningTable
from granite.tuning.driver import drive
from granite.tuning.measures import Band, goals_of
from granite.tuning.results import best_of, front_of
from granite.tuning.scenarios import unseen_plants
from granite.tuning.session import Session
from granite.tuning.study import TrialResult
from granite.tuning.trial import Case, Judged, judge
from granite.tuning.workers import workers

_SPREAD = (
    PlantSpread(key="modules.vehicle.bodies.base.mass_kg", relative=0.15),
    PlantSpread(key="modules.vehicle.bodies.base.inertia_kg_m2", relative=0.3),
    PlantSpread(key="devices.thrusters.valve.delay_s", relative=0.5),
    PlantSpread(key="simulation.table.tilt_g", relative=0.9),
)
_PLANTS, _UNSEEN = 8, 20


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.tuning", description=__doc__)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--robust", action="store_true")
    asked = parser.parse_args()
    bed = load("free-flyer")
    assert bed.tuning is not None
    studies, times = {}, {}
    for seed in asked.seeds:
        table = bed.tuning.model_copy(update={"seed": seed, "trials": asked.trials})
        studies[seed], times[seed] = tuned(bed, table, asked.processes)
    every = [result for results in studies.values() for result in results]
    known = best_of(bed.tuning, every)
    assert known is not None
    print(f"{asked.trials} trials on {len(bed.tuning.seeds)} seeds of the lab; best known: {pair(known.objectives)}\n")
    print("| sampler's seed | start | trial | error, propellant | of the best known | within 1.1 by trial | time |")
    print("|---|---|---|---|---|---|---|")
    for seed, results in studies.items():
        nearest = min(front_of(bed.tuning, results), key=lambda one: factor(one, known))
        near = [one.number for one in results if one.is_feasible and factor(one, known) <= 1.1]
        print(
            f"| {seed} | {pair(results[0].objectives)} | {nearest.number} | {pair(nearest.objectives)} |"
            f" {factor(nearest, known):.2f} | {near[0] if near else '-'} | {times[seed]:.0f} s |"
        )
    if asked.robust:
        robust(bed, bed.tuning.model_copy(update={"trials": asked.trials}), asked.processes)


def tuned(bed: Testbed, table: TuningTable, processes: int | None) -> tuple[list[TrialResult], float]:
    """The trials of a session, and its time [s]."""
    with tempfile.TemporaryDirectory() as folder, workers(processes) as made:
        session = Session.create(Path(folder) / "session", bed, table)
        began = time.perf_counter()
        drive(bed, session.table, session.study(), made)
        return session.study().results(), time.perf_counter() - began


def factor(result: TrialResult, known: TrialResult) -> float:
    return max(a / b for a, b in zip(result.objectives, known.objectives, strict=True))


def pair(objectives: Sequence[float]) -> str:
    return f"{1e3 * objectives[0]:.2f} mm, {objectives[1]:.2f} N s"


def robust(bed: Testbed, table: TuningTable, processes: int | None) -> None:
    """Compare the best gains of the nominal plant with those of several, on plants that neither has met."""
    several = table.model_copy(update={"spread": _SPREAD, "plants": _PLANTS, "seeds": (1,), "score": "worst"})
    print(f"\n| tuned on | mean on {_UNSEEN} unseen plants | worst | runs that did not end well |")
    print("|---|---|---|---|")
    for name, one in (("the nominal plant", table), (f"{_PLANTS} plants, worst", several)):
        best = best_of(one, tuned(bed, one, processes)[0])
        assert best is not None
        plants = unseen_plants(bed, several, _UNSEEN)
        cases = [
            Case(to_json(bed), goals_of(table), Band(), {**plant, **best.parameters, "seed": 100 + i})
            for i, plant in enumerate(plants)
        ]
        with workers(processes) as made:
            judged: list[Judged] = list(made.answers(judge, cases))
        ended = np.array([run.values[:2] for run in judged if run.failure is None])
        print(f"| {name} | {pair(ended.mean(axis=0))} | {pair(ended.max(axis=0))} | {len(judged) - len(ended)} |")


if __name__ == "__main__":
    main()
