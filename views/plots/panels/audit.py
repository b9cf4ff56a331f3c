"""Errors of the simulation itself, where it was audited."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from granite.config.records import Array
from granite.logs.audit import ENERGY_LIMIT, GAP_LIMIT, SLIP_LIMIT
from granite.views.plots.panels.panel import Entry, Panel, add_legend
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import SOFT, colours

#: smaller values are drawn here: a logarithmic axis has no zero
_FLOOR = 1e-17
#: upper end of the axis, as a multiple of the highest limit or error
_ABOVE = 30.0


def audit_panels(run: PlottedRun) -> list[Panel]:
    """Energy that no work accounts for, relative to the largest kinetic energy or work; gaps and slips of contacts.

    Each with its limit, dotted.
    """
    if not run.audit or not np.isfinite(run.audit["energy"] - run.audit["work"]).any():
        return []
    errors = {"energy error": (_energy_error(run), ENERGY_LIMIT)}
    if run.bed.contacts:
        errors["gap"] = run.audit["gap"], GAP_LIMIT
        errors["slip"] = run.audit["slip"], SLIP_LIMIT

    def draw(axes: Axes) -> None:
        entries, limits = list[Entry](), dict[float, list[str]]()
        for (name, (error, limit)), colour in zip(errors.items(), colours(len(errors)), strict=True):
            line = axes.semilogy(run.t, np.maximum(np.abs(error), _FLOOR), color=colour, lw=0.8, label=name)
            axes.axhline(limit, color=colour if limit not in limits else SOFT, ls=":", lw=1.4)
            limits.setdefault(limit, []).append(name.removesuffix(" error"))
            entries.append(Entry(name, tuple(line)))
        for limit, names in limits.items():
            text = f"limit of {' and '.join(names)}"
            across = axes.get_yaxis_transform()
            axes.text(0.995, limit, text, transform=across, ha="right", va="bottom", fontsize=7.5, color=SOFT)
        axes.set_ylim(_FLOOR / 3, _ABOVE * max(axes.get_ylim()[1], *limits))
        axes.yaxis.set_major_locator(LogLocator(base=1000.0, numticks=9))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(lambda x, _: f"{x:.0e}")
        axes.set_ylabel("audit")
        add_legend(axes, entries)

    return [Panel(draw, height=1.5)]


def _energy_error(run: PlottedRun) -> Array:
    balance = run.audit["energy"] - run.audit["work"]
    about = max(np.nanmax(np.abs(run.audit[name])) for name in ("kinetic_energy", "work"))
    part: Array = balance - balance[np.flatnonzero(np.isfinite(balance))[0]]
    part /= max(float(about), float(np.finfo(float).tiny))
    return part
