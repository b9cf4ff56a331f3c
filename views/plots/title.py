"""The two lines at the top of a page: testbed and facts of the run."""

from __future__ import annotations

import json

import numpy as np
from matplotlib.figure import Figure

from granite.logs.log import Log
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import SOFT, STOP

#: letters that fit into the second line, and letters of one change
_LINE, _CHANGE = 150, 60


def write_title(figure: Figure, log: Log, run: PlottedRun) -> None:
    """Name, seed, duration, definition of the error, duration of a tick, changes."""
    bed = log.bed
    facts = [bed.name, f"seed {bed.seed}", f"{run.end - float(run.t[0]):.4g} s"]
    facts += [f"error = {run.measure} − reference"] if bed.controller else []
    facts += [_tick_time(run)] if run.is_realtime else []
    changes: list[str] = json.loads(log.info.get("changes", "[]"))
    if changes:
        facts.append(_shortened(changes, _LINE - len("  ·  ".join(facts))))
    above, title, line = (1 - down / figure.get_figheight() for down in (0.13, 0.38, 0.73))
    figure.text(0.015, title, bed.title, fontsize=min(20.0, 1500 / max(len(bed.title), 1)), weight="bold", va="center")
    figure.text(0.015, line, "  ·  ".join(facts), fontsize=11, color=SOFT, va="center")
    if not log.complete or "recovered" in log.info:
        lack = "the log is truncated: the run continued" if not log.complete else f"recovered: {log.info['recovered']}"
        figure.text(0.985, above, lack[:_LINE], fontsize=10, color=STOP, va="center", ha="right")


def _tick_time(run: PlottedRun) -> str:
    taken = 1e3 * run.tick_time[np.isfinite(run.tick_time)]
    median, late = np.percentile(taken, (50, 99))
    return f"tick of {1e3 * run.bed.loop.period_s:.3g} ms, taking {median:.2g} ms (99 %: {late:.2g} ms)"


def _shortened(changes: list[str], room: int) -> str:
    """As many changes as fit, long ones shortened in the middle, and the number of those left out."""
    half = _CHANGE // 2
    short = [change if len(change) <= _CHANGE else f"{change[:half]}…{change[-half:]}" for change in changes]
    for n in range(len(short), 0, -1):
        text = f"changed: {', '.join(short[:n])}" + (f" and {len(short) - n} more" if n < len(short) else "")
        if len(text) <= room:
            return text
    return f"{len(short)} keys changed"
