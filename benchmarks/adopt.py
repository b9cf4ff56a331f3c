"""Gains of the presets from their tuning sessions: `python -m benchmarks.adopt free-flyer [--write]`.

For each preset, the session of `docs/sessions/BED.toml` is made, which starts from the gains in force. Of its trials,
that with the least error is taken which needs no more propellant than the start. Its gains, rounded to two digits, are
compared with those in force on seeds and plants that the session has not met, also by the largest errors of the last
5 s. With `--write`, gains that are better
there are written into the preset, and the trials and a figure of the session beside its table.
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
_UNSEEN = 20
#: a trial may need this much more propellant than the gains in force, which is less than seeds differ
_AS_MUCH = 1.01
#: gains are taken over for an error that is at most this part of that in force
_LESS = 0.95
#: and end this much further from the target
_AS_NEAR = 1.05
_JUDGED = ("rms_error_m", "propellant_n_s", "final_error_m", "final_error_rad")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.adopt", description=__doc__)
    parser.add_argument("beds", nargs="+", metavar="BED")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--sessions", type=Path, default=Path("runs"), help="where sessions are made or gone on with")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    print(
        f"| preset | gains | error, propellant; at the end: {_UNSEEN} seeds | {_UNSEEN} plants | failed | taken over |"
    )
    print("|---|---|---|---|---|---|")
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
            if asked.write and better:
                write(session, results, gains)


def least_error_at_no_more_propellant(table: TuningTable, results: list[TrialResult]) -> TrialResult:
    """Of the feasible trials, or the start where there is none."""
    most = _AS_MUCH * results[0].objectives[1]
    found = [one for one in front_of(table, results) if one.objectives[1] <= most]
    return min(found, key=lambda one: one.objectives, default=results[0])


def judged(bed: Testbed, table: TuningTable, gains: dict[str, float], made: Workers) -> list[np.ndarray]:
    """What is judged, of every unseen seed and of every unseen plant; a row that is not finite has failed."""
    seeds = [{"seed": 1000 + i} for i in range(_UNSEEN)]
    plants = [{**plant, "seed": 2000 + i} for i, plant in enumerate(unseen_plants(bed, table, _UNSEEN))]
    goals = tuple(("", name) for name in _JUDGED)
    cases = [Case(to_json(bed), goals, Band(), {**one, **gains}) for one in (*seeds, *plants)]
    values = np.array([run.values or [np.nan] * len(goals) for run in made.answers(judge, cases)])
    return [values[:_UNSEEN], values[_UNSEEN:]]


def is_better(before: list[np.ndarray], after: list[np.ndarray]) -> bool:
    """Less error at no more propellant and as near to the target at the end, on seeds and on plants; no run fails."""
    ratios = [np.mean(b, axis=0) / np.mean(a, axis=0) for a, b in zip(before, after, strict=True)]
    return all(bool(np.all(ratio <= (_LESS, _AS_MUCH, _AS_NEAR, _AS_NEAR))) for ratio in ratios)


def row(found: list[np.ndarray]) -> str:
    means = [np.nanmean(values, axis=0) for values in found]
    cells = [f"{1e3 * e:.3f} mm, {p:.2f} N s; {1e3 * m:.2f} mm, {1e3 * rad:.2f} mrad" for e, p, m, rad in means]
    return " | ".join([*cells, str(sum(int(np.isnan(values).any(axis=1).sum()) for values in found))])


def words(gains: dict[str, float]) -> str:
    short = {key.removeprefix("controller.law.").replace("gains.", ""): value for key, value in gains.items()}
    return ", ".join(f"{key} {value:g}" for key, value in short.items())


def write(session: Session, results: list[TrialResult], gains: dict[str, float]) -> None:
    """Write the gains into the preset, and what the session tried beside its table."""
    preset = _ROOT / f"config/testbeds/{session.bed.name}.toml"
    preset.write_text(with_numbers(preset.read_text(), gains, preset))
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
