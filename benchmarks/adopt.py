"""Gains of the presets from their tuning sessions: `python -m benchmarks.adopt free-flyer [--write]`.

For each preset, the session of `docs/sessions/BED.toml` is made, which starts from the gains before it. Its trials
with less error than the start, of those with no more propellant the 20 of least error, are candidates, with gains
rounded to two digits. The first by error is chosen which is better than the start on runs that the session has not met:
other seeds, plants and holds. It is taken over where it is better once more on a second set of such runs. Gains are
better where

- no run fails that did not fail before,
- the rms of the errors of position and of angles, and the propellant, are as means over the seeds, over the plants and
  over the holds at most 3 % larger, and one of these means is at least 5 % smaller,
- the largest errors of the last 5 s, of position and of heading, are at most 5 % larger as means over all moves.

With `--write`, gains that are taken over are written into the preset, which must give these keys already, and the
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
#: a candidate may need this much more propellant than the start on the runs of the session
_AS_MUCH, _CANDIDATES = 1.01, 20
#: of the comparisons; see above
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
            before = judged(bed, table, results[0].parameters, made, comparison=1)
            print(f"| {name} | at the start | {row(before)} | |", flush=True)
            best = chosen(bed, table, results, made)
            better = False
            if best is not None:
                after = judged(bed, table, rounded(best), made, comparison=1)
                better = is_better(before, after)
                found = f"trial {best.number} of {len(results)}: {words(rounded(best))}"
                print(f"| | {found} | {row(after)} | {'yes' if better else 'no'} |", flush=True)
            else:
                print(f"| | none of {len(results)} trials is better in the first comparison | | | | | no |", flush=True)
            if asked.write:
                write_trials(session, results)
            if asked.write and better and best is not None:
                preset = _ROOT / f"config/testbeds/{name}.toml"
                preset.write_text(with_numbers(preset.read_text(), rounded(best), preset))


def chosen(bed: Testbed, table: TuningTable, results: list[TrialResult], made: Workers) -> TrialResult | None:
    """The candidate with the least error that is better than the start in the first comparison."""
    error, propellant = results[0].objectives
    found = [one for one in results if one.is_feasible and one.objectives[1] <= _AS_MUCH * propellant]
    found = sorted((one for one in found if one.objectives[0] < error), key=lambda one: one.objectives)
    before = judged(bed, table, results[0].parameters, made, comparison=0)
    for one in found[:_CANDIDATES]:
        if is_better(before, judged(bed, table, rounded(one), made, comparison=0)):
            return one
    return None


def rounded(result: TrialResult) -> dict[str, float]:
    """Its gains with two digits."""
    return {key: float(f"{value:.2g}") for key, value in result.parameters.items()}


def judged(
    bed: Testbed, table: TuningTable, gains: dict[str, float], made: Workers, comparison: int
) -> list[np.ndarray]:
    """What is judged, of every seed, plant and hold of a comparison; a row that is not finite has failed."""
    seeds = [{"seed": 1000 * comparison + 100 + i} for i in range(_SEEDS)]
    drawn = unseen_plants(bed, table, (comparison + 1) * _PLANTS)[-_PLANTS:]
    plants = [{**plant, "seed": 1000 * comparison + 200 + i} for i, plant in enumerate(drawn)]
    holds = [{**_HOLD, "seed": 1000 * comparison + 300 + i} for i in range(_HOLDS)]
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
