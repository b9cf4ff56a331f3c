"""The log row of a testbed: its layout, with packing from records and reading back."""

from __future__ import annotations

from granite.config.testbed import Testbed
from granite.logs.row_layout import refuse_bad_names
from granite.logs.row_packing import RowPacking
from granite.logs.row_reading import RowReading
from granite.logs.topics import topics_of


class Channels(RowPacking, RowReading):
    """The row of a testbed: `Channels.of(bed)`, or `Channels(read_layout(...))` of a log."""

    @classmethod
    def of(cls, bed: Testbed) -> Channels:
        """The row of a testbed, with the signals of its devices."""
        channels = cls(topics_of(bed))
        for topic in channels.topics:
            refuse_bad_names(topic)
        return channels
