"""From a row back to the records of its tick, equal to the bit; their arrays are views of the row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from granite.config.records import (
    NOTHING,
    Array,
    Command,
    Demand,
    Frame,
    Operation,
    Reference,
    Sample,
    State,
    Tick,
    Timing,
    Truth,
    Verdict,
    new,
)
from granite.logs.row_layout import RowLayout
from granite.logs.topics import Entry


class RowReading(RowLayout):
    """A row that is read back into records."""

    def __init__(self, topics: Mapping[str, Mapping[str, Entry]]) -> None:
        super().__init__(topics)
        self._places_by_topic = {
            topic.name: tuple(self.place(topic.name, entry) for entry in topic.entries) for topic in self.topics
        }
        #: how many frames, ages and set points the records have
        values_of = [entry for entry in self.topic("/sample").entries if entry.endswith(".values")]
        self._n_applied = sum(entry.startswith("applied.") for entry in values_of)
        self._n_frames = len(values_of) - self._n_applied
        reference, state = self.topic("/reference").entries, self.topic("/state").entries
        self._n_direct, self._has_task = sum(entry.startswith("direct.") for entry in reference), "task" in reference
        #: arrays of the state that have no entry, by their place behind `t` and `ready`
        self._n_state = len(state)
        self._not_in_state = [i for i, field in enumerate(State._fields[2:]) if field not in state]
        self._has_unloading = "unloading" in self.topic("/command").entries

    def read(self, row: Array) -> Tick:
        """All records of a tick."""
        values = self._values(row)
        sample, state, reference, demand, wanted = self._read_controllers(values)
        t, allowed, reason, subject = next(values), self._read_command(values), int(next(values)), int(next(values))
        verdict = Verdict(t, allowed, reason, subject, next(values), next(values), bool(next(values)))
        applied = _read_frames(values, self._n_applied)
        truth, timing = Truth(*islice(values, len(Truth._fields))), Timing(*islice(values, len(Timing._fields)))
        timing = timing._replace(tick=int(timing.tick), lost=int(timing.lost), overruns=int(timing.overruns))
        asked = Operation(*islice(values, len(Operation._fields)))
        codes: Any = {name: int(getattr(asked, name)) for name in Operation._fields[1:-1] if name != "value"}
        operation = asked._replace(**codes)
        return Tick(sample, state, reference, demand, wanted, verdict, applied, truth, timing, operation)

    def read_controllers(self, row: Array) -> tuple[Sample, State, Reference, Demand, Command]:
        """The records before the verdict."""
        return self._read_controllers(self._values(row))

    def read_state(self, row: Array) -> State:
        """The estimate alone."""
        return self._read_state(self._values(row, "/state"))

    def read_reference(self, row: Array) -> Reference:
        """The reference alone."""
        return self._read_reference(self._values(row, "/reference"))

    def read_demand(self, row: Array) -> Demand:
        """The demand alone."""
        return self._read_demand(self._values(row, "/demand"))

    def _values(self, row: Array, topic: str = "") -> Iterator[Any]:
        """The entries of a topic, or of all."""
        places = self._places_by_topic[topic] if topic else self._places
        return iter([row[place] if isinstance(place, slice) else row.item(place) for place in places])

    def _read_controllers(self, values: Iterator[Any]) -> tuple[Sample, State, Reference, Demand, Command]:
        sample = Sample(next(values), _read_frames(values, self._n_frames), _read_frames(values, self._n_applied))
        state, reference = self._read_state(values), self._read_reference(values)
        return sample, state, reference, self._read_demand(values), self._read_command(values)

    def _read_state(self, values: Iterator[Any]) -> State:
        t, ready, *arrays = islice(values, self._n_state)
        for i in self._not_in_state:
            arrays.insert(i, NOTHING)
        return new(State, (t, bool(ready), *arrays))

    def _read_reference(self, values: Iterator[Any]) -> Reference:
        t, q, u, a, done = islice(values, 5)
        direct = tuple(islice(values, self._n_direct))
        return new(Reference, (t, q, u, a, bool(done), direct, next(values) if self._has_task else NOTHING))

    def _read_demand(self, values: Iterator[Any]) -> Demand:
        return Demand(*islice(values, len(self.topic("/demand").entries)))

    def _read_command(self, values: Iterator[Any]) -> Command:
        t, setpoints, thrust = next(values), tuple(islice(values, self._n_applied)), next(values)
        return Command(t, setpoints, thrust, next(values) if self._has_unloading else NOTHING)


def _read_frames(values: Iterator[Any], n: int) -> tuple[Frame, ...]:
    return tuple(Frame(next(values), int(next(values)), int(next(values)), next(values)) for _ in range(n))
