"""Events as lines through all panels, with a legend of names and times above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D

from granite.config.reasons import Reason
from granite.config.run_modes import RunMode, sentence_of
from granite.logs.contact_changes import OUT_OF_REACH
from granite.views.plots.run import PlottedRun
from granite.views.plots.style import CONTACT, SOFT, STOP, WARNING, words

#: by change of a contact; others are SOFT
_COLOURS = {"closed": CONTACT, "sticks": CONTACT, "slips": WARNING, OUT_OF_REACH: STOP}
#: up to this number changes of contacts are listed one by one
_LISTED = 6

#: causes of a mode without a fault
_BY_OPERATOR = (Reason.PASSED, Reason.OPERATOR_HOLD, Reason.OPERATOR_FLOAT, Reason.OPERATOR_STOP)

#: size of the letters of a legend with subjects, values and limits
_DETAILED = 8.5
#: most letters in a line of such a legend with two columns
_WIDE = 45

#: times by name and colour of the event
Times = dict[tuple[str, str], list[float]]


def mark_events(
    figure: SubFigure, column: Sequence[Axes], run: PlottedRun, states_are_named: bool, modes_are_named: bool
) -> None:
    """Recorded events and changes of contacts; each named once, however often it happened.

    Changes of a state machine, and modes that an operator asked for, are thin lines without a name where a panel
    names them. Requests are left out there: those that were granted are changes of the mode.
    """
    handles = []
    details = _details(run)
    recorded = _recorded(run, modes_are_named and bool(run.run_modes))
    thin = [t for t, _ in run.run_modes] if modes_are_named else []
    if states_are_named and run.states:
        recorded = {event: when for event, when in recorded.items() if event[0] not in _entered(run)}
        thin += [change.t for change in run.states]
    for axes in column:
        axes.vlines(thin, 0, 1, transform=axes.get_xaxis_transform(), color=SOFT, lw=0.5, ls=":", zorder=1.5)
    for (name, colour), when in {**recorded, **_changes(run)}.items():
        for axes in column:
            axes.vlines(when, 0, 1, transform=axes.get_xaxis_transform(), color=colour, lw=1.2, zorder=1.5)
        often = f" ({len(when)} times)" if len(when) > 1 else ""
        label = f"{name} at {when[0]:.4g} s{often}{details.get(name, '')}"
        handles.append(Line2D([], [], color=colour, lw=2, label=label))
    if handles:
        # A long line of subject, value and limit needs the whole width.
        longest = max(len(line) for handle in handles for line in str(handle.get_label()).splitlines())
        size = _DETAILED if details else None
        columns = 1 if details and longest > _WIDE else 2
        figure.legend(handles=handles, loc="outside upper left", ncols=columns, labelcolor="linecolor", fontsize=size)


def _details(run: PlottedRun) -> dict[str, str]:
    """Subject, value and limit of the guard's reasons, by name: those of the first time."""
    details: dict[str, str] = {}
    for event in run.events:
        reason = Reason.__members__.get(str(event["name"]).upper())
        text = str(event.get("text", ""))
        if reason is not None and text.startswith(f"{reason.text}: "):
            details.setdefault(words(str(event["name"])), f"\n{text.removeprefix(f'{reason.text}: ')}")
    return details


def _recorded(run: PlottedRun, modes_are_named: bool) -> Times:
    """Recorded events without changes of contacts, which are found in the rows, and what a panel of modes names."""
    times: Times = {}
    changes = {words(f"{change.contact} {change.what}") for change in run.changes}
    for event in run.events:
        name = words(str(event["name"]))
        colour = STOP if event["level"] == "error" else WARNING
        if name not in changes and not (modes_are_named and _is_asked_for(event)):
            times.setdefault((name, colour), []).append(float(event["t_s"]))
    return times


def _is_asked_for(event: Mapping[str, Any]) -> bool:
    """Whether it is a request of an operator, or a mode that no fault led to."""
    mode = RunMode.__members__.get(str(event["name"]).upper())
    if mode is None:
        return str(event["name"]) == "operator_request"
    return str(event["text"]) in [sentence_of(mode, cause) for cause in _BY_OPERATOR]


def _entered(run: PlottedRun) -> set[str]:
    """Names of the events of a state machine."""
    return {words(f"state_{change.name}") for change in run.states}


def _changes(run: PlottedRun) -> Times:
    """By contact, or by kind of change where those are too many names."""
    by_contact: Times = {}
    by_what: Times = {}
    for change in run.changes:
        colour = _COLOURS.get(change.what, SOFT)
        by_contact.setdefault((f"{words(change.contact)} {change.what}", colour), []).append(change.t)
        by_what.setdefault((f"contact {change.what}", colour), []).append(change.t)
    return by_contact if len(by_contact) <= _LISTED else by_what
