"""Rows put together from the messages in the chunks of a log: one message per topic, in the order of the row.

A run of whole rows is taken with a few array operations: their messages have the same lengths, so that the rows lie at
equal distances. A row that continues in the next chunk is put together message by message.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from io import BytesIO

import numpy as np
import numpy.typing as npt
from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Channel, Schema

from granite.config.records import Array
from granite.logs.channels import Channels
from granite.logs.mcap_file import CDR_HEADER, EVENTS, SCENE_TOPICS, SUMMARY
from granite.logs.mcap_records import BrokenError

#: a record in a chunk: opcode, length, and of a message the channel; then sequence and two times; then the data
_RECORD = struct.Struct("<BQH")
_BODY, _DATA = 9, 31
#: rows that are looked at in the first step, doubled as long as all of them are rows
_STEP = 8


class LayoutError(ValueError):
    """The messages do not follow the layout of the log."""


class RowAssembly:
    """Takes the chunks of a log in their order.

    Parameters
    ----------
    channels
        The layout of the rows.
    other
        Receives topic and content of every message on another topic, which is `/events` or `/summary`.
    """

    def __init__(self, channels: Channels, other: Callable[[str, bytes], None]) -> None:
        self._topics, self._width, self._other = channels.topics, channels.width, other
        self._schemas: dict[int, str] = {}
        self._topic_of: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        #: where the message of each topic begins in a row of messages, and the length of all
        sizes = [_DATA + len(CDR_HEADER) + 8 * (topic.stop - topic.start) for topic in self._topics]
        self._offsets = [0, *np.cumsum(sizes[:-1]).tolist()]
        self._sizes, self._stride = sizes, sum(sizes)
        #: where bytes of a row of messages are the same in every row, and those bytes
        self._same: tuple[npt.NDArray[np.intp], npt.NDArray[np.uint8]] | None = None
        self._next, self._part = 0, np.empty(self._width)
        self._skips = False
        #: rows of the present chunk so far
        self.taken = 0

    def resume(self) -> None:
        """After a chunk that could not be read: drop the row that it cut, and begin with the next whole one."""
        self._next, self._skips = 0, True

    def take(self, content: bytes) -> Array:
        """The rows that are complete with this chunk."""
        blocks: list[Array] = []
        view, at, self.taken = np.frombuffer(content, np.uint8), 0, 0
        while at < len(content):
            if self._next == 0 and (rows := self._whole_rows(view, at)) is not None:
                blocks.append(rows)
                at += len(rows) * self._stride
                self.taken += len(rows)
                self._skips = False
                continue
            if at + _RECORD.size > len(content):
                raise BrokenError("a record that is cut off")
            opcode, length, channel = _RECORD.unpack_from(content, at)
            body, at = at + _BODY, at + _BODY + length
            if at > len(content):
                raise BrokenError("a record that is cut off")
            if opcode == Opcode.MESSAGE:
                if self._take_message(self._topic_of[channel], content[body + _DATA - _BODY : at]):
                    blocks.append(self._part[None].copy())
                    self.taken += 1
            elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                self.define(opcode, content[body:at])
            else:
                raise BrokenError(f"a record of kind {opcode}")
        return np.concatenate(blocks) if blocks else np.empty((0, self._width))

    def define(self, opcode: int, body: bytes) -> None:
        """Take a schema or a channel: the chunks have them before the first message, the index has all."""
        stream = ReadDataStream(BytesIO(body))
        if opcode == Opcode.SCHEMA:
            schema = Schema.read(stream)
            self._schemas[schema.id] = schema.data.decode(errors="replace")  # those of a scene are no text
            return
        channel = Channel.read(stream)
        expected = {topic.name: topic.message for topic in self._topics}
        others = (EVENTS, SUMMARY, *SCENE_TOPICS)
        if channel.topic not in others and expected.get(channel.topic) != self._schemas[channel.schema_id]:
            raise LayoutError(f"{channel.topic} is not laid out as its configuration says")
        if self._numbers.setdefault(channel.topic, channel.id) != channel.id or (
            self._topic_of.setdefault(channel.id, channel.topic) != channel.topic
        ):
            raise LayoutError(f"{channel.topic} has two channels")
        if self._numbers.keys() >= expected.keys():
            offsets: list[int] = []
            same = b""
            for topic, start, size in zip(self._topics, self._offsets, self._sizes, strict=True):
                head = _RECORD.pack(Opcode.MESSAGE, size - _BODY, self._numbers[topic.name])
                offsets += (*range(start, start + len(head)), *range(start + _DATA, start + _DATA + len(CDR_HEADER)))
                same += head + CDR_HEADER
            self._same = np.array(offsets), np.frombuffer(same, np.uint8)

    def _take_message(self, name: str, message: bytes) -> bool:
        """Whether a row is complete with this message."""
        if name in (EVENTS, SUMMARY):
            self._other(name, message)
            return False
        if name in SCENE_TOPICS:  # for viewers: it follows from the rows
            return False
        topic = self._topics[self._next]
        if self._skips and self._next == 0 and name != topic.name:
            return False
        if name != topic.name:
            raise LayoutError(f"a message of {name} stands where one of {topic.name} is expected")
        size = 8 * (topic.stop - topic.start)
        if not message.startswith(CDR_HEADER) or len(message) != len(CDR_HEADER) + size:
            raise LayoutError(f"{name} is not laid out as its configuration says")
        self._part[topic.start : topic.stop] = np.frombuffer(message, "<f8", offset=len(CDR_HEADER))
        self._next = (self._next + 1) % len(self._topics)
        self._skips = False
        return self._next == 0

    def _whole_rows(self, view: npt.NDArray[np.uint8], at: int) -> Array | None:
        """The rows that lie from here on one behind the other; None where the next record does not begin one."""
        room = (len(view) - at) // self._stride
        if self._same is None or not room:
            return None
        n, step = 0, _STEP
        while n < room:
            some = self._rows_at(view, at + n * self._stride, min(step, room - n))
            n += some
            if some < step:
                break
            step *= 2
        if n == 0:
            return None
        messages = view[at : at + n * self._stride].reshape(n, self._stride)
        rows = np.empty((n, self._width))
        bytes_of_rows = rows.view(np.uint8)  # the doubles in a message do not lie at multiples of 8
        for topic, start, size in zip(self._topics, self._offsets, self._sizes, strict=True):
            doubles = messages[:, start + _DATA + len(CDR_HEADER) : start + size]
            bytes_of_rows[:, 8 * topic.start : 8 * topic.stop] = doubles
        return rows

    def _rows_at(self, view: npt.NDArray[np.uint8], at: int, n: int) -> int:
        """How many of the next n are whole rows."""
        assert self._same is not None
        offsets, same = self._same
        messages = view[at : at + n * self._stride].reshape(n, self._stride)
        right = (messages.take(offsets, axis=1) == same).all(axis=1)
        return n if right.all() else int(np.argmin(right))
