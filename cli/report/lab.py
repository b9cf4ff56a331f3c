"""How the simulated lab of a testbed differs from a usual one: an ideal table, the plant's own keys, timed events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from granite.config.errors import shown
from granite.config.events import TimedEvent
from granite.config.testbed import Testbed


def lab_rows(bed: Testbed) -> Iterator[tuple[str, str]]:
    """An ideal table, every difference and every event, as a name and a sentence."""
    if bed.simulation.table.ideal:
        yield "table", "simulated as ideal: level, without drag"
    for key, value in _flat(bed.simulation.plant):
        yield f"plant {key}", f"{shown(value)}, which the controllers do not know"
    for event in sorted(bed.simulation.events, key=lambda event: event.at_s):
        yield f"from {event.at_s:g} s", _event(event)


def _flat(changes: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Nested tables as dotted keys."""
    for key, value in changes.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _event(event: TimedEvent) -> str:
    """The kind of the event and its values that were given."""
    given = event.model_dump(exclude={"kind", "at_s"}, exclude_defaults=True)
    return ", ".join([event.kind, *(f"{key} {shown(value)}" for key, value in given.items())])
