"""Tables of what can be tuned, of what a session found, and of two sessions side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from granite.config.testbed import Testbed
from granite.config.tuning import TuningGoal
from granite.tuning.live_session import GainComparison
from granite.tuning.measures import metric_units
from granite.tuning.parameters import listed, unit_of
from granite.tuning.results import best_of, front_of, ranked
from granite.tuning.session import Session
from granite.tuning.study import TrialResult
from granite.views.table import table

#: trials in a table
_SHOWN = 10
_BEST = (
    "best: of the Pareto front ({} of {} trials) the nearest to the best value of each objective, "
    "relative to the extent of the front"
)
_IMPORTANCE = "the share that a parameter explains of the variation of"
_PARAMETER_COLUMNS = ("key", "start", "best", "lower", "upper", "unit", "importance")
#: a larger change is a factor [%]
_LARGEST_PERCENT = 999.0


def list_tables(bed: Testbed) -> Iterator[Table]:
    """What the parts of a testbed declare as tunable, and every metric that an objective may speak of."""
    rows = [
        (p.key, "-" if p.now is None else f"{p.now:g}", f"{p.lower:g}", f"{p.upper:g}", p.scale, p.unit)
        for p in listed(bed)
    ]
    if rows:
        yield table("What can be tuned", ("key", "now", "lower", "upper", "scale", "unit"), rows)
    yield table("Metrics for objectives and constraints", ("name", "unit"), list(metric_units(bed).items()))


def unit_of_goal(bed: Testbed, goal: TuningGoal) -> str:
    """The unit of an objective or constraint: that of a metric; empty of an expression."""
    unit = metric_units(bed).get(goal.of, "")
    return "" if unit == "1" else unit


def titled(session: Session, goals: Sequence[TuningGoal]) -> list[str]:
    """Names of objectives and constraints with their units."""
    units = [unit_of_goal(session.bed, goal) for goal in goals]
    return [f"{goal.label} [{unit}]" if unit else goal.label for goal, unit in zip(goals, units, strict=True)]


def result_tables(session: Session) -> Iterator[Table]:
    """The trials that count, the parameters of the best one against the start, and their importance."""
    results = session.results()
    best = best_of(session.table, results)
    order = ranked(session.table, results)
    objectives = session.table.objectives
    goals = titled(session, (*objectives, *session.table.constraints))
    shown = dict.fromkeys([0, *([best.number] if best else []), *(r.number for r in order[:_SHOWN])])
    by_number = {result.number: result for result in results}
    rows = [_trial_row(by_number[n], best, len(goals)) for n in shown]
    failed = sum(not result.objectives for result in results)
    title = f"Session of {session.bed.name}: {len(results)} of {session.table.trials} trials, {failed} without a result"
    note = _BEST.format(min(len(order), _SHOWN), len(order)) if len(objectives) > 1 and best else ""
    yield table(title, ("trial", *goals, "remark"), rows, sentences=1, note=note)
    if best is not None:
        note = f"importance: {_IMPORTANCE} {' / '.join(goal.label for goal in objectives)}"
        yield table(f"Parameters of trial {best.number}", _PARAMETER_COLUMNS, parameter_rows(session, best), note=note)


def parameter_rows(session: Session, best: TrialResult) -> list[tuple[str, ...]]:
    """Each parameter: start, best, bounds, and its importance for every objective."""
    study = session.study()
    importance = [study.importance(i) for i in range(len(session.table.objectives))]
    return [
        (
            p.key, f"{p.start:.4g}", f"{best.parameters[p.key]:.4g}", f"{p.lower:g}", f"{p.upper:g}", p.unit,
            " / ".join(f"{one[p.key]:.0%}" if p.key in one else "-" for one in importance),
        )
        for p in session.parameters
    ]  # fmt: skip


def _trial_row(result: TrialResult, best: TrialResult | None, n: int) -> tuple[str, ...]:
    numbers = [f"{value:.5g}" for value in (*result.objectives, *result.constraints)]
    remarks = ["start"] if result.number == 0 else []
    remarks += ["best"] if best is not None and result.number == best.number else []
    remarks += [result.failure] if result.failure else [] if result.is_feasible else ["a constraint does not hold"]
    return (str(result.number), *(numbers or ["-"] * n), ", ".join(remarks))


def comparison_tables(first: Session, second: Session) -> Iterator[Table]:
    """The best trials of two sessions, A and B; a dash where only one of them has the goal or the parameter."""
    sessions = {"A": first, "B": second}
    best = {name: session.trial(None) for name, session in sessions.items()}
    about = [
        (name, str(s.folder), s.bed.name, s.table.sampler, str(s.study().told), str(best[name].number))
        for name, s in sessions.items()
    ]
    yield table("Sessions", ("", "folder", "testbed", "sampler", "trials", "best"), about)
    goals: dict[str, dict[str, str]] = {}
    values: dict[str, dict[str, str]] = {}
    for name, session in sessions.items():
        labels = titled(session, (*session.table.objectives, *session.table.constraints))
        for label, value in zip(labels, (*best[name].objectives, *best[name].constraints), strict=True):
            goals.setdefault(label, {})[name] = f"{value:.5g}"
        for key, value in best[name].parameters.items():
            values.setdefault(key, {})[name] = f"{value:.5g}"
    yield table("Best trials", ("goal", "A", "B"), [(k, v.get("A", "-"), v.get("B", "-")) for k, v in goals.items()])
    rows = [(k, v.get("A", "-"), v.get("B", "-"), unit_of(k)) for k, v in values.items()]
    yield table("Parameters", ("key", "A", "B", "unit"), rows)


def session_json(session: Session) -> dict[str, Any]:
    """Everything about a session, for scripts."""
    study, results = session.study(), session.results()
    best = best_of(session.table, results)
    return {
        "session": str(session.folder),
        "bed": session.bed.name,
        "tuning": session.table.model_dump(mode="json"),
        "trials": [result._asdict() for result in results],
        "best": None if best is None else best.number,
        "front": [result.number for result in front_of(session.table, results)],
        "importance": {goal.label: study.importance(i) for i, goal in enumerate(session.table.objectives)},
    }


def gain_table(gains: Sequence[Mapping[str, Any]], a: Mapping[str, float]) -> Table:
    """Each gain with its bounds, now and in A."""
    rows = [
        (g["name"], f"{a[g['name']]:.5g}", f"{g['value']:.5g}", f"{g['lower']:g}", f"{g['upper']:g}", g["unit"])
        for g in gains
    ]
    return table("Gains", ("gain", "A", "now", "lower", "upper", "unit"), rows)


def compared_tables(comparison: GainComparison) -> Iterator[Table]:
    """The gains that differ, and the measures with A and with B."""
    gains = [(s.gain, f"{s.before:.5g}", f"{s.after:.5g}", _change(s.before, s.after)) for s in comparison.gains]
    yield table("Gains that differ", ("gain", "A", "B", "change"), gains)
    seconds = " and ".join(f"{part:.1f} s" for part in comparison.seconds)
    rows = [
        (f"{name} [{unit}]" if unit not in ("", "1") else name, f"{a:.5g}", f"{b:.5g}", _change(a, b))
        for name, unit, a, b in comparison.measures
    ]
    yield table(f"The same manoeuvre, {seconds}", ("measure", "A", "B", "change"), rows)


def _change(a: float, b: float) -> str:
    if not a:
        return "-"
    percent = 100 * (b / a - 1)
    return f"{b / a:.3g} x" if abs(percent) > _LARGEST_PERCENT else f"{percent:+.1f} %"
