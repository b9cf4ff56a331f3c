"""How well the simulation kept its books, where it was audited."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from granite.config.records import Array
from granite.rt.audit import ENERGY_LIMIT, GAP_LIMIT, SLIP_LIMIT
from granite.rt.plots.look import colours
from granite.rt.plots.panels.panel import Panel, add_legend
from granite.rt.plots.run import Run

#: what is smaller is drawn here: a logarithm has no zero
_FLOOR = 1e-17


def audit_panels(run: Run) -> list[Panel]:
    """Energy error relative to the largest kinetic energy or work; gaps and slips of the contacts; limits dotted."""
    if not run.audit or not np.isfinite(run.audit["energy"] - run.audit["work"]).any():
        return []
    errors = {"energy error": (_unpaid(run), ENERGY_LIMIT)}
    if run.bed.contacts:
        errors["gap"] = run.audit["gap"], GAP_LIMIT
        errors["slip"] = run.audit["slip"], SLIP_LIMIT

    def draw(axes: Axes) -> None:
        for (name, (error, limit)), colour in zip(errors.items(), colours(len(errors)), strict=True):
            axes.semilogy(run.t, np.maximum(np.abs(error), _FLOOR), color=colour, lw=0.8, label=name)
            axes.axhline(limit, color=colour, ls=":", lw=1.2)
        axes.yaxis.set_major_formatter(lambda x, _: f"{x:.0e}")
        axes.set_ylabel("audit")
        add_legend(axes, alone=True)

    return [Panel(draw)]


def _unpaid(run: Run) -> Array:
    unpaid = run.audit["energy"] - run.audit["work"]
    about = max(np.nanmax(np.abs(run.audit[name])) for name in ("kinetic_energy", "work"))
    part: Array = unpaid - unpaid[np.flatnonzero(np.isfinite(unpaid))[0]]
    part /= max(float(about), float(np.finfo(float).tiny))
    return part
