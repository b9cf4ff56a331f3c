"""Tables and figure of Monte Carlo runs: distributions, worst seeds, and the matrix of scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.table import Table

from granite.tuning.measures import metric_units
from granite.tuning.montecarlo import MonteCarlo
from granite.views.plots.style import COLOURS, DPI, INK
from granite.views.table import table

_PARTS = (0.05, 0.5, 0.95)
_WORST = 3


def monte_carlo_tables(result: MonteCarlo) -> Iterator[Table]:
    """Distribution and worst seed of every metric, the matrix of scenarios, and runs without a result."""
    names = titles(result)
    ended = sum(run.failure is None for run in result.runs)
    rows: list[tuple[str, ...]] = []
    for i, name in enumerate(names):
        values = result.values(i)
        if not len(values):
            rows.append((name, "-", "-", "-", "-", "-"))
            continue
        worst = result.worst(i)[0]
        named = len(result.scenarios) > 1
        seeds = ", ".join(f"{r.seed} ({r.scenario})" if named else str(r.seed) for r in result.worst(i, _WORST))
        rows.append((name, *(f"{x:.4g}" for x in np.quantile(values, _PARTS)), f"{worst.values[i]:.4g}", seeds))
    columns = ("metric", "5 %", "median", "95 %", "worst", "worst seeds")
    yield table(f"{len(result.runs)} runs of {result.bed.name}, {ended} reached their end", columns, rows)
    if len(result.scenarios) > 1:
        matrix = [
            (name, _share(result, name), *(_cell(result, i, name) for i in range(len(names))))
            for name in result.scenarios
        ]
        title = "Scenarios: median and worst of each metric"
        yield table(title, ("scenario", "ended well", *names), matrix)
    failures = result.failures().most_common(5)
    if failures:
        yield table("Runs without a result", ("runs", "why"), [(str(n), why) for why, n in failures], sentences=1)


def monte_carlo_json(result: MonteCarlo) -> dict[str, Any]:
    """All runs, for scripts."""
    runs = [run._asdict() for run in result.runs]
    worst = {m: [run.seed for run in result.worst(i, _WORST)] for i, m in enumerate(result.metrics)}
    return {"bed": result.bed.name, "metrics": result.metrics, "runs": runs, "worst_seeds": worst}


def monte_carlo_figure(result: MonteCarlo) -> Figure:
    """The distribution of each metric, and with several scenarios how much worse each is than the first."""
    names, scenarios = titles(result), result.scenarios
    panels = len(names) + (len(scenarios) > 1)
    columns = 2 if panels in (2, 4) else min(panels, 3)
    rows = -(-panels // columns)
    figure = Figure(figsize=(4.6 * columns, 3.3 * rows + 0.3), dpi=DPI, layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for i, name in enumerate(names):
        _draw_distribution(axes[i], result, i, name)
    if len(scenarios) > 1:
        _draw_matrix(axes[len(names)], result)
    for unused in axes[panels:]:
        unused.set_visible(False)
    figure.suptitle(f"{len(result.runs)} runs of {result.bed.name}", x=0.01, ha="left", fontsize=11)
    return figure


def titles(result: MonteCarlo) -> list[str]:
    """The metrics with their units."""
    units = metric_units(result.bed)
    return [f"{m} [{u}]" if (u := units.get(m, "1")) != "1" else m for m in result.metrics]


def _draw_distribution(axes: Axes, result: MonteCarlo, i: int, name: str) -> None:
    everything = result.values(i)
    if len(everything):
        bins = np.histogram_bin_edges(everything, bins=min(40, max(5, round(2 * np.sqrt(len(everything))))))
        medians: list[float] = []
        for scenario, colour in zip(result.scenarios, COLOURS * 20, strict=False):
            values = result.values(i, scenario)
            axes.hist(values, bins.tolist(), color=colour, alpha=0.55, label=scenario)
            if len(values):
                medians.append(float(np.median(values)))
                axes.axvline(medians[-1], color=colour, lw=1.2)
        # One label is enough for the lines of all scenarios, which may be too close for one each.
        above: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "bottom"}
        axes.text(medians[0], 1.0, "median", fontsize=7.5, **above)
        worst = result.worst(i)[0]
        label: dict[str, Any] = {"xytext": (0, 14), "textcoords": "offset points", "ha": "center", "fontsize": 7.5}
        line = {"arrowstyle": "-", "color": INK}
        axes.annotate(f"seed {worst.seed}", (worst.values[i], 0), **label, arrowprops=line)
    if i == 0 and len(result.scenarios) > 1:
        axes.legend(fontsize=7)
    axes.locator_params(axis="x", nbins=5)  # long numbers such as 0.00035 must not meet
    axes.set_xlabel(name)
    axes.set_ylabel("runs")


def _draw_matrix(axes: Axes, result: MonteCarlo) -> None:
    """The 95 % quantile of each metric over that of the first scenario; of a margin the 5 % one."""
    ratio = np.full((len(result.scenarios), len(result.metrics)), np.nan)
    for row, scenario in enumerate(result.scenarios):
        for i in range(len(result.metrics)):
            values = result.values(i, scenario)
            first = result.values(i, result.scenarios[0])
            part = _PARTS[0] if result.less_is_worse(i) else _PARTS[-1]
            if len(values) and len(first) and (reference := float(np.quantile(first, part))):
                ratio[row, i] = float(np.quantile(values, part)) / reference
    worse = np.array([-1.0 if result.less_is_worse(i) else 1.0 for i in range(len(result.metrics))])
    axes.imshow(worse * (ratio - 1), aspect="auto", cmap="RdYlGn_r", vmin=-1, vmax=1, alpha=0.6)
    centred: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
    for row, i in np.ndindex(*ratio.shape):
        axes.text(i, row, "-" if np.isnan(ratio[row, i]) else f"{ratio[row, i]:.2f}", **centred)
    labels = [f"{name} ({_share(result, name)})" for name in result.scenarios]
    axes.set_yticks(range(len(labels)), labels, fontsize=7.5)
    axes.set_xticks(range(len(result.metrics)), result.metrics, fontsize=7.5, rotation=20, ha="right")
    axes.grid(visible=False)
    axes.set_title("Bad 5 %, relative to the first (share that ended well)", fontsize=8.5, loc="left")


def _share(result: MonteCarlo, scenario: str) -> str:
    runs = [run for run in result.runs if run.scenario == scenario]
    return f"{sum(run.failure is None for run in runs) / len(runs):.0%}"


def _cell(result: MonteCarlo, metric: int, scenario: str) -> str:
    values = result.values(metric, scenario)
    if not len(values):
        return "-"
    worst = np.min(values) if result.less_is_worse(metric) else np.max(values)
    return f"{np.median(values):.3g} / {worst:.3g}"
