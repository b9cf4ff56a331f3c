"""Many runs of the free-flyer in one figure: `python -m benchmarks.thousand_runs` draws 1000 of 30 s.

Distance of the base from its reference over time in each run, with the median and the range of 90 % of the runs, and
the distributions of error and propellant.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from granite.tuning.many_runs import ManyRun, simulate_many
from granite.views.plots.style import COLOURS, DPI, STYLE

#: kept of each run
SIGNALS = ("truth.base_x_m", "truth.base_y_m", "reference.base_x_m", "reference.base_y_m", "state.ready")
#: every so many ticks are drawn
_EVERY = 20


def draw(runs: Sequence[ManyRun]) -> Figure:
    """The figure; the time is that of the ticks."""
    x, y, x_ref, y_ref, ready = (np.array([run.signals[name][::_EVERY] for run in runs]) for name in SIGNALS)
    known = np.all(ready == 1.0, axis=0)
    distance = 1e3 * np.hypot(x - x_ref, y - y_ref)[:, known]
    t = (np.arange(len(known)) * _EVERY * runs[0].bed.loop.period_s)[known]
    impulse = [run.metrics["propellant"]["impulse_n_s"] for run in runs]
    with matplotlib.style.context(["default", STYLE]):
        figure = Figure(figsize=(10.4, 3.6), dpi=DPI, layout="constrained")
        over_time, errors, propellant = figure.subplots(1, 3, width_ratios=(2, 1, 1))
        lines = [np.column_stack([t, one]) for one in distance]
        over_time.add_collection(LineCollection(lines, colors=COLOURS[0], alpha=0.03, linewidths=0.7))
        for quantile, label, style in ((0.5, "median", "-"), (0.05, None, "--"), (0.95, "90 % of the runs", "--")):
            at = np.quantile(distance, quantile, axis=0)
            over_time.plot(t, at, style, color=COLOURS[1], lw=1.4, label=label)
        over_time.set(xlim=(0, t[-1]), ylim=(0, float(np.max(distance))), xlabel="time [s]")
        over_time.set_ylabel("distance from the reference [mm]")
        over_time.legend(fontsize=8)
        over_time.set_title(f"{len(runs)} runs of {runs[0].bed.loop.duration_s:g} s", fontsize=9.5, loc="left")
        errors.hist(np.sqrt(np.mean(np.square(distance), axis=1)), bins=30, color=COLOURS[0])
        errors.set_xlabel("rms distance [mm]")
        errors.set_ylabel("runs")
        propellant.hist(impulse, bins=30, color=COLOURS[2])
        propellant.set_xlabel("propellant [N s]")
    return figure


if __name__ == "__main__":
    file = Path("runs/thousand-runs.png")
    file.parent.mkdir(exist_ok=True)
    draw(simulate_many("free-flyer", seeds=range(1, 1001), signals=SIGNALS)).savefig(file)
    print(file)
