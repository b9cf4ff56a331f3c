"""The state machine of a behaviour: as a table, as a Mermaid diagram, and as JSON."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from granite.config.behaviour import StateNote
from granite.config.errors import InputError
from granite.config.testbed import Testbed
from granite.views.table import table


def machine_of(bed: Testbed) -> tuple[StateNote, ...]:
    """The states of the testbed's behaviour; `InputError` where it has none."""
    notes: tuple[StateNote, ...] = getattr(bed.behaviour, "states", tuple)()
    if not notes:
        raise InputError("it has no states", key="behaviour.kind", value=bed.behaviour.kind, expected="a state machine")
    return notes


def states_table(bed: Testbed, states: tuple[StateNote, ...]) -> Table:
    """Each state with its action and the conditions that end it."""
    rows = []
    for note in states:
        ends = [f"{other}: {when}" for other, when in note.leads_to.items()]
        if note.timeout_s is not None and note.on_timeout:
            ends.append(f"{note.on_timeout}: after {note.timeout_s:g} s")
        thrusters = ("may fire" if note.thrusters else "closed",) if bed.thrusters else ()
        rows.append((note.name, *thrusters, note.doing, "; ".join(ends) or "ends the behaviour"))
    columns = ("state", *(("thrusters",) if bed.thrusters else ()), "what it does", "what follows")
    return table(f"States of {bed.behaviour.kind}", columns, rows, sentences=2)


def states_json(states: tuple[StateNote, ...]) -> list[dict[str, Any]]:
    """The same for scripts."""
    return [note._asdict() for note in states]


def drawing(states: tuple[StateNote, ...]) -> str:
    """The machine as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {states[0].name}"]
    for note in states:
        lines += [f"    {note.name} --> {other}: {when}" for other, when in note.leads_to.items()]
        if note.timeout_s is not None and note.on_timeout:
            lines.append(f"    {note.name} --> {note.on_timeout}: after {note.timeout_s:g} s")
        if not note.leads_to and not note.on_timeout:
            lines.append(f"    {note.name} --> [*]")
    return "\n".join(lines)
