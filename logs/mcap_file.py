"""A log on disk: an MCAP file that viewers open without code of Granite.

Each topic of a row is a message: a ROS 2 message of float64 fields in CDR, which is a header of four bytes
and then the doubles as they are. The whole testbed goes in as the attachment `testbed.json`, the layout of its rows as
`channels.json`, other facts about the run as the metadata record `granite`; all stand in front, so that a truncated
file still has them. The attachment `extremes.bin` at the end has the least and greatest values of blocks of rows, so
that a long run is drawn at once (`logs/extremes.py`). Events are on `/events` and the summary of the run on
`/summary`, both as JSON.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import foxglove
from foxglove import Channel, Context, Schema
from foxglove.mcap import MCAPWriteOptions

from granite.config.records import Array
from granite.logs.channels import Channels
from granite.logs.extremes import EXTREMES, ExtremesOfRows
from granite.logs.row_layout import Topic

#: raised with every change that an older reader would misread
FORMAT = "6"
METADATA = "granite"
TESTBED = "testbed.json"
CHANNELS = "channels.json"
#: the metadata that holds the fingerprint of each attachment
FINGERPRINTS = {TESTBED: "testbed_sha256", CHANNELS: "channels_sha256"}
EVENTS = "/events"
SUMMARY = "/summary"
#: shapes that are fixed to frames; jets, contacts and bent links; frames
SCENE_TOPICS = ("/scene", "/scene/marks", "/tf")
#: little-endian CDR, as ROS 2 writes it
CDR_HEADER = b"\x00\x01\x00\x00"


class McapFile:
    """A log that is being written."""

    def __init__(
        self,
        path: str,
        channels: Channels,
        bed_json: str,
        metadata: Mapping[str, str],
        start_ns: int | None = None,
        scene: bool = False,
    ) -> None:
        """Create the file, or replace the one of that name; `OSError` if that fails.

        `start_ns` is the wall time at t = 0; None: it comes by `begin`, before the first row. With `scene`, the file
        has the topics of a scene too, which somebody else writes.
        """
        #: of the channels, which live as long as it does; others may add channels, which do not go into the file
        self.context = context = Context()
        # No compression threads: they would use all cores, also the loop's.
        # Level 1: as small as the usual level 3 on such rows, in two thirds of the time.
        options = MCAPWriteOptions(compression_threads=0, compression_level=1, profile="ros2")
        own_topics = {EVENTS, SUMMARY, *(topic.name for topic in channels.topics), *(SCENE_TOPICS if scene else ())}
        self._writer = foxglove.open_mcap(
            path,
            allow_overwrite=True,
            context=context,
            writer_options=options,
            channel_filter=lambda channel: channel.topic in own_topics,
        )
        attachments = {TESTBED: bed_json, CHANNELS: json.dumps(channels.layout())}
        own = {FINGERPRINTS[name]: fingerprint(text) for name, text in attachments.items()}
        self._writer.write_metadata(METADATA, {**metadata, "format": FORMAT, **own})
        for name, text in attachments.items():
            self._attach(name, "application/json", text.encode(), start_ns or 0)
        self._writer.flush()
        self._topics = channels.topics
        self._channels = [
            Channel(topic.name, schema=_schema(topic), message_encoding="cdr", context=context)
            for topic in channels.topics
        ]
        self._events = _json_channel(EVENTS, context)
        self._summary = _json_channel(SUMMARY, context)
        self._t = channels.column("/sample", "t_s")
        # A file without a name beside the log: nothing of it stays where this process is killed.
        self._blocks = tempfile.TemporaryFile(dir=Path(path).parent)  # noqa: SIM115
        self._extremes = ExtremesOfRows(channels, self._blocks)
        self._start_ns = self._last_ns = 0
        if start_ns is not None:
            self.begin(start_ns)

    def begin(self, start_ns: int) -> None:
        """The run begins: `start_ns` is the wall time at t = 0, and stands in a second record of metadata."""
        self._start_ns = self._last_ns = start_ns
        self._writer.write_metadata(METADATA, {"start_ns": str(start_ns)})
        self._writer.flush()

    def write(self, rows: Array) -> None:
        """One message per topic and row."""
        messages = [
            (channel.base.log, _cdr(rows[:, topic.start : topic.stop]))
            for channel, topic in zip(self._channels, self._topics, strict=True)
        ]
        times = [self.log_time(t) for t in rows[:, self._t].tolist()]
        for i, log_time in enumerate(times):
            for log, of_row in messages:
                log(of_row[i], log_time=log_time)
        self._last_ns = times[-1]
        self._extremes.add(rows)

    def event(self, t: float, tick: int, level: str, name: str, text: str) -> None:
        """Write an event at time t."""
        event = {"t_s": t, "tick": tick, "level": level, "name": name, "text": text}
        self._events.log(json.dumps(event).encode(), log_time=self.log_time(t))

    def summary(self, summary: str) -> None:
        """Write the summary of the run, as JSON, at the time of the last row."""
        self._summary.log(summary.encode(), log_time=self._last_ns)

    def flush(self) -> None:
        """Hand all data to the operating system; `RuntimeError` if some could not be written."""
        self._writer.flush()

    def close(self) -> None:
        """Write the extremes and the index, and close; `RuntimeError` if the file is incomplete."""
        if (extremes := self._extremes.result()) is not None:
            self._attach(EXTREMES, "application/octet-stream", extremes.packed(), self._last_ns)
        self._blocks.close()
        self._writer.close()

    def _attach(self, name: str, media_type: str, data: bytes, at_ns: int) -> None:
        self._writer.attach(log_time=at_ns, create_time=at_ns, name=name, media_type=media_type, data=data)

    def log_time(self, t: float) -> int:
        """Wall time of a time of the run [ns]."""
        return self._start_ns + round(t * 1e9)


def fingerprint(text: str) -> str:
    """Checksum of an attachment; the library does not check them on reading."""
    return hashlib.sha256(text.encode()).hexdigest()


def message_type(topic: Topic) -> str:
    """The name of its message type: those of testbeds with other signals differ, so that one program reads both."""
    digest = hashlib.sha256(topic.message.encode()).hexdigest()[:8].upper()
    return f"granite/msg/{topic.name[1:].capitalize()}{digest}"


def _schema(topic: Topic) -> Schema:
    return Schema(name=message_type(topic), encoding="ros2msg", data=topic.message.encode())


def _json_channel(topic: str, context: Context) -> Any:
    """Without a schema, which `Channel` would add: `rosbags` refuses a log with one that ROS 2 does not know."""
    return context._create_channel(topic, message_encoding="json", schema=None)


def _cdr(values: Array) -> list[bytes]:
    """The rows of a topic as messages."""
    doubles = values.astype("<f8")
    n = doubles.shape[1] * 8
    data = doubles.tobytes()
    if n == 0:  # a testbed without actuators has nothing in /applied
        return [CDR_HEADER] * len(doubles)
    return [CDR_HEADER + data[at : at + n] for at in range(0, len(data), n)]
