"""Lines through all panels where something happened, and above them what happened when."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D

from granite.rt.logs.contact_changes import OUT_OF_REACH
from granite.rt.plots.look import CONTACT, SOFT, STOP, WARNING, words
from granite.rt.plots.run import PlottedRun

#: of what happened to contacts; what is not named here is soft
_COLOURS = {"closed": CONTACT, "sticks": CONTACT, "slips": WARNING, OUT_OF_REACH: STOP}
#: so many changes of contacts are told one by one
_TOLD = 6

#: times by what happened and its colour
Times = dict[tuple[str, str], list[float]]


def mark_events(figure: SubFigure, column: Sequence[Axes], run: PlottedRun) -> None:
    """What the loop told, and what happened to the contacts; each named once, however often it happened."""
    handles = []
    for (name, colour), when in {**_told(run), **_changes(run)}.items():
        for axes in column:
            axes.vlines(when, 0, 1, transform=axes.get_xaxis_transform(), color=colour, lw=1.2, zorder=1.5)
        often = f" ({len(when)} times)" if len(when) > 1 else ""
        handles.append(Line2D([], [], color=colour, lw=2, label=f"{name} at {when[0]:.4g} s{often}"))
    if handles:
        figure.legend(handles=handles, loc="outside upper left", ncols=2, labelcolor="linecolor")


def _told(run: PlottedRun) -> Times:
    """Without what happened to the contacts, which is told by itself."""
    times: Times = {}
    changes = {words(f"{change.contact} {change.what}") for change in run.changes}
    for event in run.events:
        name, colour = words(str(event["name"])), STOP if event["level"] == "error" else WARNING
        if name not in changes:
            times.setdefault((name, colour), []).append(float(event["t_s"]))
    return times


def _changes(run: PlottedRun) -> Times:
    """By contact, or for all of them together where that would be too many names."""
    by_contact: Times = {}
    by_what: Times = {}
    for change in run.changes:
        colour = _COLOURS.get(change.what, SOFT)
        by_contact.setdefault((f"{words(change.contact)} {change.what}", colour), []).append(change.t)
        by_what.setdefault((f"contact {change.what}", colour), []).append(change.t)
    return by_contact if len(by_contact) <= _TOLD else by_what
