"""Forces: torques of joints, the demanded and the delivered wrench on the base, loads of the contacts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from granite.config.records import Array
from granite.logs.contact_summary import SQUEEZE_UNIT
from granite.views.plots.panels.panel import Entry, Line, Panel, add_legend, coloured, is_something, lines
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import SOFT, colours, words

#: number of intervals over which both are averaged: valves are on or off, so one tick means little
_STRETCHES = 150
_DASHED = (0, (3, 1.5))
_FORCES = {3: ("fx", "fy"), 6: ("fx", "fy", "fz")}
_TORQUES = {3: ("mz",), 6: ("mx", "my", "mz")}
#: forces and moments below this are rounding [N, N m]
_NOTHING = 1e-9


def wrench_panels(run: PlottedRun) -> list[Panel]:
    """Force and torque in the axes of the base, each the mean over short intervals; the demand is dashed."""
    panels = []
    for module, wrench in run.wrenches.items():
        n = wrench[1].shape[1]
        if np.isfinite(wrench[1]).any():
            name = f"{words(module)} " if len(run.wrenches) > 1 else ""
            linear = len(_FORCES[n])
            panels.append(_panel(run, f"{name}force\n[N]", _FORCES[n], wrench, slice(0, linear)))
            panels.append(_panel(run, f"torque on\n{name or 'base '}[N m]", _TORQUES[n], wrench, slice(linear, n)))
    return panels


def _panel(run: PlottedRun, label: str, names: tuple[str, ...], wrench: tuple[Array, Array], rows: slice) -> Panel:
    demanded_all = wrench[0][:, rows]
    delivered_all = wrench[1][:, rows]
    starts = np.arange(0, len(run.t), -(-len(run.t) // _STRETCHES), dtype=np.intp)
    edges = np.append(run.t[starts], run.end)

    def draw(axes: Axes) -> None:
        axes.axhline(0, color=SOFT, lw=0.8)
        entries = []
        means = (_means(whole, run.weight, starts) for whole in (delivered_all, demanded_all))
        series = zip(names, *means, strict=True)
        for (name, delivered, demanded), colour in zip(series, colours(len(names)), strict=True):
            title = f"{name} {run.delivery}"
            axes.stairs(delivered, edges, baseline=None, color=colour, lw=1.3, label=title)
            entries.append(Entry(title, (Line2D([], [], color=colour, lw=1.3),)))
            axes.stairs(demanded, edges, baseline=None, color=colour, lw=1.1, ls=_DASHED, label=f"{name} demanded")
        axes.set_ylabel(label)
        stretch = f"means of {edges[1] - edges[0]:.2g} s"
        entries.append(Entry(f"demanded ({stretch})", (Line2D([], [], color=SOFT, lw=1.1, ls=_DASHED),)))
        add_legend(axes, entries)

    return Panel(draw)


def _means(series: Array, weight: Array, starts: npt.NDArray[np.intp]) -> Array:
    """Mean of each interval, without NaN; one row for each column of the series."""
    ticks = np.where(np.isfinite(series), weight[:, None], 0.0)
    total = np.add.reduceat(np.nan_to_num(series) * ticks, starts)
    count = np.add.reduceat(ticks, starts)
    means: Array = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return means.T


def torque_panels(run: PlottedRun) -> list[Panel]:
    """In the colours of the joints."""
    of_joint = dict(zip(run.bed.joints, colours(len(run.bed.joints)), strict=True))
    driven = zip(run.bed.motors, run.torque.T, strict=True)
    named = {words(motor.joint): Line(torque, of_joint[motor.joint]) for motor, torque in driven}
    return [lines(run, "joint\ntorque [N m]", named, width=0.8)] if is_something(named) else []


def contact_force_panels(run: PlottedRun) -> list[Panel]:
    """Magnitudes; panels of moments, in the colours of the forces, and of internal forces where there are any."""
    if not run.bed.contacts or not np.isfinite(run.force).any():
        return []
    panels = [lines(run, "contact\n[N]", _by_contact(run, run.force), alone=True)]
    if np.nanmax(run.moment) > _NOTHING:
        panels.append(lines(run, "contact\n[N m]", _by_contact(run, run.moment), alone=True))
    if np.nanmax(run.squeeze, initial=0.0) > _NOTHING:
        squeezes = dict(zip(map(words, run.bed.squeezed), run.squeeze.T, strict=True))
        panels.append(lines(run, f"squeeze\n[{SQUEEZE_UNIT}]", coloured(squeezes), alone=True))
    return panels


def _by_contact(run: PlottedRun, sizes: Array) -> dict[str, Line]:
    contacts = run.bed.contacts
    series = zip(contacts, sizes.T, colours(len(contacts)), strict=True)
    return {words(contact.name): Line(size, colour) for contact, size, colour in series}
