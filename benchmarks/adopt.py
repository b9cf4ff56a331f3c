"""Gains of the presets from their tuning sessions: `python -m benchmarks.adopt free-flyer [--write]`.

For each preset, the session of `docs/sessions/BED.toml` is made, which starts from the gains before it. Of its trials,
that with the least error is taken which needs no more propellant than the start. Its gains, rounded to two digits, are
compared with those of the start on seeds, plants and holds that the session has not met. They are the better ones where

- no run fails that did not fail before,
- the rms of the errors of position and of angles, and the propellant, are as means over the seeds, over the plants and
  over the holds at most 3 % larger, and one of these means is at least 5 % smaller,
- the largest errors of the last 5 s, of position and of heading, are at most 5 % larger as means over all moves.

With `--write`, the gains of the better ones are written into the preset, which must give these keys already, and the
trials and a figure of every session beside its table.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import matplotlib
import numpy as np

from granite.config.loader import load, load_tuning, to_json
from granite.config.testbed import Testbed
from granite.config.tuning import TuningTable
from granite.rt.plots.look import STYLE
from granite.rt.worker_processes import Workers
from granite.tuning.driver import drive
from granite.tuning.measures import Band
from granite.tuning.report.figures import session_figure
from granite.tuning.results import front_of
from granite.tuning.scenarios import unseen_plants
from granite.tuning.session import Session
from granite.tuning.study import TrialResult
from granite.tuning.toml_numbers import with_numbers
from granite.tuning.trial import Case, judge
from granite.tuning.workers import workers

_ROOT = Path(__file__).parents[1]
#: runs that the session has not met
_SEEDS, _PLANTS, _HOLDS = 20, 20, 10
_HOLD = {"behaviour.waypoints": [], "loop.duration_s": 60.0}
#: of the choice, on the runs of the session: a trial may need this much more propellant than the start
_AS_MUCH = 1.01
#: of the comparison, on runs that the session has not met; see above
_AT_MOST, _LESS, _AS_NEAR = 1.03, 0.95, 1.05
_JUDGED = ("rms_error_m", "rms_error_rad", "propellant_n_s", "final_error_m", "final_error.base_heading")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.adopt", description=__doc__)
    parser.add_argument("beds", nargs="+", metavar="BED")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--sessions", type=Path, default=Path("runs"), help="where sessions are made or gone on with")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    counts = f"{_SEEDS} seeds | {_PLANTS} plants | hold of a minute, {_HOLDS} seeds"
    print(f"| preset | gains | error, propellant; at the end: {counts} | failed | taken over |")
    print("|---|---|---|---|---|---|---|")
    with workers(asked.processes) as made:
        for name in asked.beds:
            bed, table = load(name), load_tuning(_ROOT / f"docs/sessions/{name}.toml")
            folder = asked.sessions / f"adopt-{name}"
            session = Session.read(folder) if folder.exists() else Session.create(folder, bed, table)
            session.refuse_other(bed, table)
            drive(bed, table, session.study(), made)
            results = session.study().results()
            best = least_error_at_no_more_propellant(table, results)
            gains = {key: float(f"{value:.2g}") for key, value in best.parameters.items()}
            before, after = (judged(bed, table, one, made) for one in (results[0].parameters, gains))
            better = is_better(before, after)
            print(f"| {name} | in force | {row(before)} | |")
            found = f"trial {best.number} of {len(results)}: {words(gains)}"
            print(f"| | {found} | {row(after)} | {'yes' if better else 'no'} |", flush=True)
            if asked.write:
                write_trials(session, results)
            if asked.write and better:
                preset = _ROOT / f"config/testbeds/{name}.toml"
                preset.write_text(with_numbers(preset.read_text(), gains, preset))


def least_error_at_no_more_propellant(table: TuningTable, results: list[TrialResult]) -> TrialResult:
    """Of the feasible trials, or the start where there is none."""
    most = _AS_MUCH * results[0].objectives[1]
    found = [one for one in front_of(table, results) if one.objectives[1] <= most]
    return min(found, key=lambda one: one.objectives, default=results[0])


def judged(bed: Testbed, table: TuningTable, gains: dict[str, float], made: Workers) -> list[np.ndarray]:
    """What is judged, of every unseen seed, plant and hold; a row that is not finite has failed."""
    seeds = [{"seed": 1000 + i} for i in range(_SEEDS)]
    plants = [{**plant, "seed": 2000 + i} for i, plant in enumerate(unseen_plants(bed, table, _PLANTS))]
    holds = [{**_HOLD, "seed": 3000 + i} for i in range(_HOLDS)]
    goals = tuple(("", name) for name in _JUDGED)
    cases = [Case(to_json(bed), goals, Band(), {**one, **gains}) for one in (*seeds, *plants, *holds)]
    values = np.array([run.values or [np.nan] * len(goals) for run in made.answers(judge, cases)])
    return np.split(values, [_SEEDS, _SEEDS + _PLANTS])


def is_better(before: list[np.ndarray], after: list[np.ndarray]) -> bool:
    """Whether the rule above takes the gains over."""
    failed = [sum(np.isnan(values).any(axis=1).sum() for values in one) for one in (before, after)]
    means = [np.array([np.nanmean(values, axis=0) for values in one]) for one in (before, after)]
    ratios = (means[1] / means[0])[:, :3]
    ends = [np.nanmean(np.concatenate(one[:2])[:, 3:], axis=0) for one in (before, after)]
    is_worse = failed[1] > failed[0] or np.any(ratios > _AT_MOST) or np.any(ends[1] > _AS_NEAR * ends[0])
    return bool(not is_worse and np.any(ratios <= _LESS))


def row(found: list[np.ndarray]) -> str:
    cells = []
    for e, rad, p, m, heading in 1e3 * np.array([np.nanmean(values, axis=0) for values in found]):
        cells.append(f"{e:.3f} mm, {rad:.2f} mrad, {p / 1e3:.2f} N s; {m:.2f} mm, {heading:.2f} mrad")
    return " | ".join([*cells, str(sum(int(np.isnan(values).any(axis=1).sum()) for values in found))])


def words(gains: dict[str, float]) -> str:
    short = {key.removeprefix("controller.law.").replace("gains.", ""): value for key, value in gains.items()}
    return ", ".join(f"{key} {value:g}" for key, value in short.items())


def write_trials(session: Session, results: list[TrialResult]) -> None:
    """Write everything that the session tried beside its table."""
    goals = [goal.label for goal in (*session.table.objectives, *session.table.constraints)]
    stem = _ROOT / "docs/sessions" / session.bed.name
    with stem.with_suffix(".csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["trial", *(parameter.key for parameter in session.parameters), *goals, "failure"])
        for one in results:
            numbers = [*one.objectives, *one.constraints] or [""] * len(goals)
            values = [f"{v:.4g}" if v != "" else "" for v in (*one.parameters.values(), *numbers)]
            table.writerow([one.number, *values, one.failure or ""])
    with matplotlib.style.context(["default", STYLE]):
        session_figure(session).savefig(stem.with_suffix(".png"))


if __name__ == "__main__":
    main()
