"""Gains of the presets from their tuning sessions: `python -m benchmarks.adopt free-flyer free-flyer-hold [--write]`.

A session is that of `docs/sessions/NAME.toml`, for the gains of a preset in motion or in hold. It starts from the gains
before it. Its trials with neither more error nor more propellant than the start are candidates, at most 20, with gains
rounded to two digits. The first by error times propellant is chosen which is better than the start on runs that the
session has not met: other seeds and other plants. It is taken over where it is better once more on a second set of such
runs. Gains are better where

- no run fails that did not fail before,
- the rms of the errors of position and of angles, and the propellant, are as means over the seeds and over the plants
  at most 3 % larger, and one of these means is at least 5 % smaller,
- the largest errors of the last 5 s, of position and of heading, are at most 5 % larger as means over all runs.

With `--write`, gains that are taken over are written into the preset, which must give these keys already, and the
trials and a figure of every session beside its table.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from granite.config.loader import load, load_tuning, to_json
from granite.config.testbed import Testbed
from granite.config.tuning import TuningTable
from granite.tuning.driver import drive
from granite.tuning.measures import Band
from granite.tuning.report.figures import session_figure
from granite.tuning.scenarios import unseen_plants, variations_of
from granite.tuning.session import Session
from granite.tuning.study import TrialResult
from granite.tuning.toml_text import with_numbers
from granite.tuning.trial import Case, judge
from granite.tuning.worker_processes import Workers
from granite.tuning.workers import workers
from granite.views.plots.style import STYLE

_ROOT = Path(__file__).parents[1]
#: runs of a comparison
_SEEDS, _PLANTS = 20, 20
#: a candidate may have this much more of each than the start on the runs of the session
_AS_MUCH, _CANDIDATES = 1.01, 20
#: of the comparisons; see above
_AT_MOST, _LESS, _AS_NEAR = 1.03, 0.95, 1.05
_JUDGED = ("rms_error_m", "rms_error_rad", "propellant_n_s", "final_error_m", "final_error.base_heading")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.adopt", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--processes", type=int, default=None)
    parser.add_argument("--sessions", type=Path, default=Path("runs"), help="where sessions are made or gone on with")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    print(
        f"| session | gains | error, propellant; at the end: {_SEEDS} seeds | {_PLANTS} plants | failed | taken over |"
    )
    print("|---|---|---|---|---|---|")
    with workers(asked.processes) as made:
        for name in asked.names:
            preset = _ROOT / f"config/testbeds/{name.removesuffix('-hold')}.toml"
            bed, table = load(preset.stem), load_tuning(_ROOT / f"docs/sessions/{name}.toml")
            folder = asked.sessions / f"adopt-{name}"
            session = Session.read(folder) if folder.exists() else Session.create(folder, bed, table)
            session.refuse_other(bed, table)
            with session.alone():
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
                print(f"| | none of {len(results)} trials is better in the first comparison | | | | no |", flush=True)
            if asked.write:
                write_trials(session, results, _ROOT / "docs/sessions" / name)
            if asked.write and better and best is not None:
                preset.write_text(with_numbers(preset.read_text(), rounded(best), preset))


def chosen(bed: Testbed, table: TuningTable, results: list[TrialResult], made: Workers) -> TrialResult | None:
    """The best candidate that is better than the start in the first comparison."""
    most = _AS_MUCH * np.array(results[0].objectives)
    found = [
        one for one in results[1:] if one.is_feasible and one.objectives and np.all(np.array(one.objectives) <= most)
    ]
    found.sort(key=lambda one: float(np.prod(one.objectives)))
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
    """What is judged, of every seed and plant of a comparison; a row that is not finite has failed."""
    common = variations_of(bed, table.model_copy(update={"plants": 0}))["nominal"]
    drawn = unseen_plants(bed, table, (comparison + 1) * _PLANTS)[-_PLANTS:]
    plants: list[dict[str, Any]] = [*({} for _ in range(_SEEDS)), *drawn]
    goals = tuple(("", name) for name in _JUDGED)
    changes = [{**common, **plant, **gains, "seed": 1000 * (comparison + 1) + i} for i, plant in enumerate(plants)]
    answers = made.answers(judge, [Case(to_json(bed), goals, Band(), one) for one in changes])
    values = np.array([run.values or [np.nan] * len(goals) for run in answers])
    return np.split(values, [_SEEDS])


def is_better(before: list[np.ndarray], after: list[np.ndarray]) -> bool:
    """Whether the rule above takes the gains over."""
    failed = [sum(np.isnan(values).any(axis=1).sum() for values in one) for one in (before, after)]
    means = [np.array([np.nanmean(values, axis=0) for values in one]) for one in (before, after)]
    ratios = (means[1] / means[0])[:, :3]
    ends = [np.nanmean(np.concatenate(one)[:, 3:], axis=0) for one in (before, after)]
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


def write_trials(session: Session, results: list[TrialResult], stem: Path) -> None:
    """Write everything that the session tried beside its table."""
    goals = [goal.label for goal in (*session.table.objectives, *session.table.constraints)]
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
