"""The log row of a testbed: its layout, with packing from records and reading back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from granite.config.records import Array, Command, Demand, Reference, Sample, State, Tick
from granite.config.testbed import Testbed
from granite.logs.record_form import reading
from granite.logs.row_layout import RowLayout, refuse_bad_names
from granite.logs.row_packing import RowPacking
from granite.logs.topics import Entry, topics_of


class RowReading(RowLayout):
    """A row that is read back into the records of its tick, equal to the bit; their arrays are views of the row."""

    def __init__(self, topics: Mapping[str, Mapping[str, Entry]]) -> None:
        super().__init__(topics)
        #: by topic: where its values stand, and what makes its record of them
        self._read_by: dict[str, tuple[tuple[int | slice, ...], Callable[[list[Any]], Any]]] = {}
        for name, entries in topics.items():
            columns = tuple(self.columns(name, entry) for entry in entries)
            self._read_by[name] = columns, reading(name, entries, command=topics["/command"])

    def read(self, row: Array) -> Tick:
        """All records of a tick."""
        return Tick(*(self._read(row, name) for name in self._read_by))

    def read_controllers(self, row: Array) -> tuple[Sample, State, Reference, Demand, Command]:
        """The records before the verdict."""
        command: Command = self._read(row, "/command")
        return self.read_sample(row), self.read_state(row), self.read_reference(row), self.read_demand(row), command

    def read_sample(self, row: Array) -> Sample:
        """The frames alone."""
        sample: Sample = self._read(row, "/sample")
        return sample

    def read_state(self, row: Array) -> State:
        """The estimate alone."""
        state: State = self._read(row, "/state")
        return state

    def read_reference(self, row: Array) -> Reference:
        """The reference alone."""
        reference: Reference = self._read(row, "/reference")
        return reference

    def read_demand(self, row: Array) -> Demand:
        """The demand alone."""
        demand: Demand = self._read(row, "/demand")
        return demand

    def _read(self, row: Array, topic: str) -> Any:
        columns, record = self._read_by[topic]
        return record([row[at] if isinstance(at, slice) else row.item(at) for at in columns])


class Channels(RowPacking, RowReading):
    """The row of a testbed: `Channels.of(bed)`, or `Channels(read_layout(...))` of a log."""

    @classmethod
    def of(cls, bed: Testbed) -> Channels:
        """The row of a testbed, with the signals of its devices."""
        channels = cls(topics_of(bed))
        for topic in channels.topics:
            refuse_bad_names(topic)
        return channels
