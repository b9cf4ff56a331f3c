"""Figures of a session: convergence, Pareto front, importance of parameters, best trajectories against the start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from granite.logs.log import Log, read_log
from granite.tuning.report.tables import titled
from granite.tuning.results import best_of, front_of
from granite.tuning.session import Session
from granite.tuning.study import TrialResult
from granite.views.plots.comparison import build_comparison
from granite.views.plots.style import COLOURS, DPI, INK, SOFT

_BLUE, _ORANGE, _GREEN = COLOURS[:3]
#: a distribution of bad trials would squeeze the others: axes end at this quantile of the results
_SHOWN_PART = 0.95


def session_figure(session: Session) -> Figure:
    """Convergence of every objective, the front of the first two, and the importance of the parameters."""
    results = session.study().results()
    n = len(session.table.objectives)
    panels = n + (1 if n > 1 else 0) + 1
    columns = 2 if panels in (2, 4) else 3
    rows = -(-panels // columns)
    figure = Figure(figsize=(5.2 * columns, 3.6 * rows), dpi=DPI, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for i in range(n):
        draw_convergence(axes[i], session, results, i)
    if n > 1:
        draw_front(axes[n], session, results)
    draw_importance(axes[panels - 1], session)
    for unused in axes[panels:]:
        unused.set_visible(False)
    return figure


def draw_convergence(axes: Axes, session: Session, results: Sequence[TrialResult], i: int) -> None:
    """Every trial, the best so far of the feasible ones, and the start."""
    goal = session.table.objectives[i]
    title = titled(session, session.table.objectives)[i]
    there = [result for result in results if result.objectives]
    if not there:
        return
    number = np.array([result.number for result in there])
    value = np.array([result.objectives[i] for result in there])
    feasible = np.array([result.is_feasible for result in there])
    if not feasible.all():
        label = "a constraint does not hold"
        axes.scatter(number[~feasible], value[~feasible], s=12, color=SOFT, alpha=0.5, label=label)
    axes.scatter(number[feasible], value[feasible], s=12, color=_BLUE, alpha=0.6, label="trial")
    if feasible.any():
        best = np.minimum.accumulate if goal.direction == "minimise" else np.maximum.accumulate
        axes.step(number[feasible], best(value[feasible]), where="post", color=_ORANGE, label="best so far")
    without = [result.number for result in results if not result.objectives]
    if without:
        axes.plot(without, np.zeros(len(without)), "|", color=INK, ms=7, transform=axes.get_xaxis_transform(),
                  clip_on=False, label="no result")  # fmt: skip
    axes.set_xlabel("trial")
    axes.set_ylabel(title)
    _limit(axes, value, "y")
    axes.set_title(f"Convergence of {goal.label}", fontsize=9.5, loc="left")
    axes.legend(fontsize=7.5)


def draw_front(axes: Axes, session: Session, results: Sequence[TrialResult]) -> None:
    """The first two objectives of every trial, and the front."""
    there = [result for result in results if result.objectives]
    if not there:
        return
    x, y = np.array([result.objectives[:2] for result in there]).T
    axes.scatter(x, y, s=12, color=_BLUE, alpha=0.4, label="trial")
    front = front_of(session.table, results)
    if len(session.table.objectives) == 2:
        points = [result.objectives for result in front]
        axes.plot(*zip(*points, strict=True), "o-", color=_GREEN, ms=4, lw=1.2, label="Pareto front")
    best = best_of(session.table, results)
    for result, label, colour in ((there[0], "start", INK), (best, "best", _ORANGE)):
        if result is not None and (label == "best" or result.number == 0):
            mark = f"{label} (trial {result.number})"
            axes.plot(*result.objectives[:2], "*", color=colour, ms=12, label=mark)
    _limit(axes, x, "x")
    _limit(axes, y, "y")
    names = titled(session, session.table.objectives)
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    axes.locator_params(axis="x", nbins=5)  # numbers such as 0.0015 must not touch
    axes.set_title("Pareto front", fontsize=9.5, loc="left")
    axes.legend(fontsize=7.5)


def draw_importance(axes: Axes, session: Session) -> None:
    """How much of each objective's variation a parameter explains."""
    study = session.study()
    names = [parameter.name for parameter in session.parameters]
    axes.set_title("Importance of the parameters", fontsize=9.5, loc="left")
    n = len(session.table.objectives)
    for i, goal in enumerate(session.table.objectives):
        importance = study.importance(i)
        if not importance:
            axes.text(0.5, 0.5, "too few results", ha="center", color=SOFT, transform=axes.transAxes)
            axes.set_axis_off()
            return
        at = np.arange(len(names)) + (i - (n - 1) / 2) * 0.8 / n
        lengths = [importance.get(parameter.key, 0.0) for parameter in session.parameters]
        axes.barh(at, lengths, 0.75 / n, color=COLOURS[i], label=goal.label)
    axes.set_yticks(range(len(names)), names, fontsize=7.5)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.legend(fontsize=7.5)


def draw_deviation(session: Session, logs: dict[str, Log]) -> Figure | None:
    """Where a planar floating base was relative to its reference, from above; None where there is none."""
    bed = session.bed
    floating = [m for m in bed.controlled if m.base == "floating" and m.dimension == "planar"] if bed.controller else []
    if not floating:
        return None
    x, y, _ = (bed.known.positions[i].key for i in range(*bed.known.root_q(floating[0]).indices(10**6)))
    figure = Figure(figsize=(6.0, 4.4), dpi=DPI, layout="constrained")
    axes = figure.subplots()
    for (name, log), colour in zip(logs.items(), COLOURS, strict=False):
        ready = log["/state"]["ready"] == 1.0
        truth, reference = log["/truth"], log["/reference"]
        error = [1e3 * (truth[key] - reference[key])[ready] for key in (x, y)]
        axes.plot(*error, color=colour, label=name)
        axes.plot(*(one[-1] for one in error), "o", color=colour, ms=5)
    axes.plot(0, 0, "+", color=INK, ms=12, label="reference")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x [mm]")
    axes.set_ylabel("y [mm]")
    axes.set_title("Base relative to its reference, from above; the dot is the end", fontsize=9.5, loc="left")
    axes.legend(fontsize=8)
    return figure


def trajectory_figures(session: Session) -> dict[str, Figure]:
    """The kept runs against each other: errors in the plane and over time."""
    logs = {name: read_log(path) for name, path in kept_logs(session).items()}
    if not logs:
        return {}
    figures = {}
    deviation = draw_deviation(session, logs)
    if deviation is not None:
        figures["Best trajectory against the start"] = deviation
    if session.bed.controller is not None:
        figures["Errors over time, start and best"] = build_comparison(logs)
    return figures


def kept_logs(session: Session) -> dict[str, Path]:
    """Logs of the start and of the best trial, where they are kept."""
    best = best_of(session.table, session.study().results())
    numbers = dict.fromkeys([0, *([best.number] if best else [])])
    logs = {("start" if n == 0 else f"best, trial {n}"): session.log_of(n) for n in numbers}
    return {name: path for name, path in logs.items() if path.exists()}


def _limit(axes: Axes, values: np.ndarray, axis: str) -> None:
    """End the axis where few results are beyond it, unless all are near each other."""
    low, high = float(np.min(values)), float(np.max(values))
    most = float(np.quantile(values, _SHOWN_PART))
    if high - low > 3 * (most - low) > 0:
        room = 0.08 * (most - low)
        (axes.set_xlim if axis == "x" else axes.set_ylim)(low - room, most + room)
