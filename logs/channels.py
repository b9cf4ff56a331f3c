"""The log row of a testbed: its layout, with packing from records and reading back."""

from __future__ import annotations

from granite.config.records import Demand, Operation, State, Timing, Truth
from granite.config.testbed import Testbed
from granite.logs.row_layout import refuse_bad_names
from granite.logs.row_packing import RowPacking
from granite.logs.row_reading import RowReading
from granite.logs.topics import topics_of

#: fields of the records that are topics; a field without values has no entry
_FIELDS = {
    "/state": State._fields,
    "/demand": Demand._fields,
    "/truth": Truth._fields,
    "/timing": Timing._fields,
    "/operation": Operation._fields,
}


class Channels(RowPacking, RowReading):
    """The row of a testbed: `Channels.of(bed)`, or `Channels(read_layout(...))` of a log."""

    @classmethod
    def of(cls, bed: Testbed) -> Channels:
        """The row of a testbed, with the signals of its devices."""
        channels = cls(topics_of(bed))
        for name, fields in _FIELDS.items():
            entries = list(channels.topic(name).entries)
            assert entries == [field for field in fields if field in entries]
        for topic in channels.topics:
            refuse_bad_names(topic)
        return channels
