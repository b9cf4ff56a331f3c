"""Overview of a log: metadata and summary, found by the index of the file, without reading its rows."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

from mcap.reader import SeekingReader
from mcap.records import Chunk, Metadata
from mcap.stream_reader import StreamReader

from granite.config.errors import InputError
from granite.rt.logs.log import BROKEN, read_log
from granite.rt.logs.mcap_file import FORMAT, METADATA, SUMMARY


class Overview(NamedTuple):
    """Metadata and summary of a run."""

    path: Path
    #: the metadata of the log
    info: dict[str, str]
    #: the summary of the run; None where the recorder was killed before it wrote one
    summary: dict[str, Any] | None
    #: changes of the testbed for this run
    changes: list[str]
    when: datetime


def read_overview(path: Path) -> Overview:
    """Overview of a log; `InputError` as from `read_log` where it can't be read."""
    try:
        with open(path, "rb") as file:
            found = _indexed(file) or (_first_metadata(file), None)
        modified = path.stat().st_mtime
    except OSError as error:
        raise InputError(f"log '{path}' can't be read: {error.strerror}") from error
    info, summary = found
    if info is None or info.get("format") != FORMAT:
        read_log(path)  # raises with the reason
        raise InputError(f"log '{path}' has no metadata of Granite")
    try:
        # A virtual run has no start time; the file's date stands for it.
        start_s = int(info.get("start_ns", "0")) * 1e-9
        when = datetime.fromtimestamp(start_s or modified).astimezone()
        changes = [str(change) for change in json.loads(info.get("changes", "[]"))]
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise InputError(f"log '{path}' has damaged metadata: expected those it was written with") from error
    return Overview(path, info, summary, changes, when)


def final_error(summary: dict[str, Any] | None) -> dict[str, float]:
    """The largest tracking error of the last seconds among the coordinates of each unit."""
    largest: dict[str, float] = {}
    for error in ((summary or {}).get("tracking_error") or {}).values():
        if (value := error["max_in_last_5_s"]) is not None:
            largest[error["unit"]] = max(value, largest.get(error["unit"], 0.0))
    return largest


def _indexed(file: IO[bytes]) -> tuple[dict[str, str] | None, dict[str, Any] | None] | None:
    """Metadata and summary of a whole file; None where it has no index: it is truncated, or still being written."""
    try:
        reader = SeekingReader(file, validate_crcs=True)
        if reader.get_summary() is None:
            return None
        info = next((record.metadata for record in reader.iter_metadata() if record.name == METADATA), None)
        messages = reader.iter_messages(topics=[SUMMARY])
        return info, next((json.loads(message.data) for _, _, message in messages), None)
    except (*BROKEN, OSError, StopIteration, RuntimeError):
        return None


def _first_metadata(file: IO[bytes]) -> dict[str, str] | None:
    """The metadata in front of the rows."""
    file.seek(0)
    try:
        for record in StreamReader(file, emit_chunks=True).records:
            if isinstance(record, Metadata) and record.name == METADATA:
                found: dict[str, str] = record.metadata
                return found
            if isinstance(record, Chunk):
                return None
    except BROKEN:
        pass
    return None
