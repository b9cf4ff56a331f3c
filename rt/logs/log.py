"""Reading a log: the testbed and the rows, bit for bit, also from a truncated file."""

from __future__ import annotations

import contextlib
import json
import struct
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Chunk, McapRecord, Metadata, Schema
from mcap.stream_reader import StreamReader, get_chunk_data_stream
from mcap.writer import MCAP0_MAGIC

from granite.config.errors import InputError
from granite.config.loader import from_json
from granite.config.parts import BUILT_IN
from granite.config.paths import missing_part
from granite.config.records import Array
from granite.config.testbed import Testbed
from granite.rt.logs.channels import Channels, read_layout
from granite.rt.logs.mcap_file import (
    CDR_HEADER,
    CHANNELS,
    EVENTS,
    FINGERPRINTS,
    FORMAT,
    METADATA,
    SUMMARY,
    TESTBED,
    fingerprint,
)
from granite.rt.logs.run_summary import RunSummary

#: exceptions that a truncated or damaged record can raise
BROKEN = (McapError, ValueError, KeyError, struct.error, zstandard.ZstdError, OverflowError, MemoryError)
#: a record in a chunk: opcode, length, and of a message the channel; then sequence, two times and the data
_RECORD = struct.Struct("<BQH")
_BODY = 9
_MESSAGE_DATA = 22


@dataclass(frozen=True)
class Log:
    """A run as it was recorded."""

    bed: Testbed
    #: the metadata of the run: format, granite, bed, seed, mode, start_ns and those of `rt.run.describe`
    info: dict[str, str]
    channels: Channels
    #: one row per tick, read only
    rows: Array
    events: tuple[dict[str, Any], ...]
    #: the summary of the run; None if the recorder was killed before it wrote one
    summary: RunSummary | None
    #: False if the file is truncated or damaged: rows then end before the run did
    complete: bool

    def __getitem__(self, topic: str) -> Signals:
        """The signals of a topic over time: `log["/truth"].base_x_m`; `InputError` where there is no such topic."""
        return Signals(self, topic)

    def to_pandas(self, topic: str | None = None) -> Any:
        """The signals of a topic, or of all as `topic.signal`, as a pandas DataFrame over the time of the tick [s].

        Raises
        ------
        InputError
            Where pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise InputError("pandas is not installed", expected="it: pip install granite-robotics[pandas]") from None
        found = [self.channels.topic(topic)] if topic else self.channels.topics
        columns = {
            value.key if topic else f"{each.name[1:]}.{value.key}": self.rows[:, each.start + i]
            for each in found
            for i, (_, value) in enumerate(each.values)
        }
        return pandas.DataFrame(columns, index=pandas.Index(self.t, name="t_s"))

    @property
    def t(self) -> Array:
        """When each tick was due [s]."""
        return self.rows[:, self.channels.column("/timing", "scheduled_s")]


class Signals:
    """The signals of one topic of a log: an array over time for each, as attribute or by key."""

    def __init__(self, log: Log, topic: str) -> None:
        self._log, self._topic = log, log.channels.topic(topic)

    def keys(self) -> list[str]:
        """The signals, each with its unit."""
        return [value.key for _, value in self._topic.values]

    def __getitem__(self, key: str) -> Array:
        return self._log.rows[:, self._log.channels.column(self._topic.name, key)]

    def __getattr__(self, key: str) -> Array:
        if key.startswith("_"):
            raise AttributeError(key)
        try:
            return self[key]
        except InputError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.keys()]


def read_log(path: Path | str) -> Log:
    """Read the log of a run.

    Parameters
    ----------
    path
        An MCAP file that Granite recorded; truncated or damaged ones are read up to the damage.

    Returns
    -------
    Log
        `complete` is False where the file was truncated or damaged.

    Raises
    ------
    InputError
        Where the file can't be read, is of another format, or has no complete tick.
    """
    try:
        with open(path, "rb") as file:
            content = _read(file, path)
    except OSError as error:
        reason = error.strerror if Path(path).parent.is_dir() else missing_part(Path(path))
        raise InputError(f"log '{path}' can't be read: {reason}") from error
    if content.info is None:
        if content.complete:
            raise InputError(f"log '{path}' is an MCAP file, but not one that Granite wrote")
        raise InputError(f"log '{path}' is cut off before its configuration: expected a whole log")
    if (version := content.info.get("format")) != FORMAT:
        raise InputError(
            f"log '{path}' has format {version}, expected format {FORMAT}: another version of Granite wrote it"
        )
    for name, key in FINGERPRINTS.items():
        if name not in content.attachments:
            raise InputError(f"log '{path}' is cut off before its configuration: expected a whole log")
        if fingerprint(content.attachments[name]) != content.info.get(key):
            raise InputError(f"log '{path}' has a damaged configuration: expected the one it was written with")
    # A user's own parts stay as options, by name: reading a log runs none of their code.
    bed = from_json(content.attachments[TESTBED], f"log '{path}'", looked_up=BUILT_IN)
    try:
        channels = Channels(read_layout(json.loads(content.attachments[CHANNELS])))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"log '{path}' has a damaged layout ({error}): expected the one it was written with"
        ) from error
    if bed.is_opaque:
        bed = _with_controlled(bed, channels)
    rows = _rows(content, channels, path)
    if len(rows) == 0:
        raise InputError(f"log '{path}' has no complete tick: the run ended before the first, or the file is cut off")
    return Log(
        bed=bed,
        info=content.info,
        channels=channels,
        rows=rows,
        events=tuple(json.loads(message) for message in content.messages.get(EVENTS, ())),
        summary=next((json.loads(message) for message in content.messages.get(SUMMARY, ())), None),
        complete=content.complete,
    )


def _with_controlled(bed: Testbed, channels: Channels) -> Testbed:
    """The testbed with the names of the modules it controlled: a user's own actuators are not known here."""
    if bed.controller is None or bed.controller.modules:
        return bed
    estimated = {value for entry, value in channels.topic("/state").values if entry == "q"}
    names = [module.name for module in bed.modules if set(bed.positions[bed.layout.q[module.name]]) <= estimated]
    modules = tuple(name for name in names if name not in bed.controller.objects)
    return bed.model_copy(update={"controller": bed.controller.model_copy(update={"modules": modules})})


class _Content:
    """The readable part of a file."""

    def __init__(self) -> None:
        self.info: dict[str, str] | None = None
        self.attachments: dict[str, str] = {}
        #: by topic: its message definition, and its messages
        self.definitions: dict[str, str] = {}
        self.messages: dict[str, list[bytes]] = {}
        self.complete = False
        self._schemas: dict[int, str] = {}
        self._by_channel: dict[int, list[bytes]] = {}

    def add(self, record: McapRecord) -> None:
        """Keep a record that belongs to a log."""
        if isinstance(record, Chunk):
            self._add_chunk(record)
        elif isinstance(record, Schema):
            self._schemas[record.id] = record.data.decode()
        elif isinstance(record, Channel):
            self.definitions[record.topic] = self._schemas.get(record.schema_id, "")
            self._by_channel[record.id] = self.messages.setdefault(record.topic, [])
        elif isinstance(record, Metadata) and record.name == METADATA:
            self.info = record.metadata
        elif isinstance(record, Attachment) and record.name in FINGERPRINTS:
            self.attachments[record.name] = record.data.decode()

    def _add_chunk(self, chunk: Chunk) -> None:
        """Iterate over the records of a chunk here: the library takes ten times as long for millions of messages."""
        stream, size = get_chunk_data_stream(chunk, validate_crc=True)
        data = stream.read(size)
        at = 0
        while at < size:
            opcode, length, channel = _RECORD.unpack_from(data, at)
            body, at = at + _BODY, at + _BODY + length
            if opcode == Opcode.MESSAGE:
                self._by_channel[channel].append(data[body + _MESSAGE_DATA : at])
            elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                kind = Schema if opcode == Opcode.SCHEMA else Channel
                self.add(kind.read(ReadDataStream(BytesIO(data[body:at]))))


class _Reader(StreamReader):  # type: ignore[misc]
    """Skips the message indexes: sequential reading does not need them, and they are slow to parse."""

    def _read_record(self, opcode: int, length: int) -> McapRecord | None:
        return None if opcode == Opcode.MESSAGE_INDEX else super()._read_record(opcode, length)


def _read(file: IO[bytes], path: Path | str) -> _Content:
    """Everything up to the end of the file, or up to the truncation."""
    magic = file.read(len(MCAP0_MAGIC))
    if not magic:
        raise InputError(f"log '{path}' is empty: expected a log that Granite wrote")
    if not MCAP0_MAGIC.startswith(magic):
        raise InputError(f"'{path}' is not an MCAP file: expected a log that Granite wrote")
    file.seek(0)
    content = _Content()
    with contextlib.suppress(*BROKEN):  # the rest can't be read, and `complete` stays False
        for record in _Reader(file, emit_chunks=True, validate_crcs=True).records:
            content.add(record)
        content.complete = True
    return content


def _rows(content: _Content, channels: Channels, path: Path | str) -> Array:
    """The messages side by side: row i is made of the i-th message of every topic."""
    messages = [content.messages.get(topic.name, []) for topic in channels.topics]
    n = min(map(len, messages))
    rows = np.empty((n, channels.width))
    for topic, of_topic in zip(channels.topics, messages, strict=True):
        size = len(CDR_HEADER) + 8 * (topic.stop - topic.start)
        if content.definitions.get(topic.name, topic.message) != topic.message or any(
            len(message) != size for message in of_topic
        ):
            raise InputError(f"log '{path}': {topic.name} is not laid out as its configuration says")
        data = b"".join(message[len(CDR_HEADER) :] for message in of_topic[:n])
        rows[:, topic.start : topic.stop] = np.frombuffer(data, "<f8").reshape(n, topic.stop - topic.start)
    rows.flags.writeable = False
    return rows
