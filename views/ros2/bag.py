"""A log as a rosbag2 folder: standard messages beside the log's own topics, readable by ROS 2 and its tools."""

from __future__ import annotations

from pathlib import Path

from granite.config.errors import InputError
from granite.config.optional_packages import required
from granite.config.whole_file import whole_folder
from granite.logs.log import Log
from granite.logs.mcap_file import CDR_HEADER, message_type
from granite.views.ros2.standard_messages import DIAGNOSTICS, StandardMessages

_EXTRA = "ros2"
#: rosbag2 metadata that Humble and all later distributions read
_VERSION = 8


def export_bag(log: Log, folder: Path, overwrite: bool = False) -> int:
    """Write a log into a new folder; how many messages it has.

    Raises
    ------
    InputError
        Where the package is missing, the folder exists, or it can't be written.
    """
    with whole_folder("bag", folder, "metadata.yaml", overwrite) as unfinished:
        return _write(log, unfinished)


def _write(log: Log, folder: Path) -> int:
    rosbag2, typesys = required("rosbags.rosbag2", _EXTRA), required("rosbags.typesys", _EXTRA)
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    for part in log.channels.topics:
        store.register(typesys.get_types_from_msg(part.message, message_type(part)))
    start_ns, written = int(log.info.get("start_ns", "0")), 0
    time = log.channels.column("/timing", "scheduled_s")
    with rosbag2.Writer(folder, version=_VERSION, storage_plugin=rosbag2.StoragePlugin.MCAP) as writer:
        rows_of = log.blocks()
        first = next(rows_of, None)
        if first is None:
            raise InputError("the log has no rows", key="log", expected="a run of at least one tick")
        standard = StandardMessages(log.bed, log.channels, first[0], store.types)
        own = [writer.add_connection(part.name, message_type(part), typestore=store) for part in log.channels.topics]
        connections = [writer.add_connection(topic.name, topic.kind, typestore=store) for topic in standard.topics]
        diagnostics = writer.add_connection(*DIAGNOSTICS, typestore=store)
        for rows in (first, *rows_of):
            for row in rows:
                ns = start_ns + round(row[time] * 1e9)
                for connection, standard_topic in zip(connections, standard.topics, strict=True):
                    if (message := standard_topic.message(row, ns)) is not None:
                        writer.write(connection, ns, store.serialize_cdr(message, standard_topic.kind))
                        written += 1
                for connection, part in zip(own, log.channels.topics, strict=True):
                    writer.write(connection, ns, CDR_HEADER + row[part.start : part.stop].tobytes())
                written += len(own)
        for event in log.events:
            ns = start_ns + round(event["t_s"] * 1e9)
            message = standard.diagnosis(ns, event["level"], event["name"], event["text"])
            writer.write(diagnostics, ns, store.serialize_cdr(message, DIAGNOSTICS[1]))
        return written + len(log.events)
