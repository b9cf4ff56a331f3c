"""Overview of a log: metadata and summary, found by the index of the file, without reading its rows."""

from __future__ import annotations

import contextlib
import json
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import IO, NamedTuple

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Metadata

from granite.config.errors import InputError
from granite.logs.json_records import read_info, read_summary
from granite.logs.log import read_log
from granite.logs.mcap_file import FORMAT, METADATA, SUMMARY
from granite.logs.mcap_records import BROKEN, messages, read_chunk, read_index, records
from granite.logs.run_summary import RunSummary


class Overview(NamedTuple):
    """Metadata and summary of a run."""

    path: Path
    #: the metadata of the log
    info: dict[str, str]
    #: the summary of the run; None where the recorder was killed before it wrote one
    summary: RunSummary | None
    #: changes of the testbed for this run
    changes: list[str]
    when: datetime


def read_overview(path: Path) -> Overview:
    """Overview of a log; `InputError` as from `read_log` where it can't be read."""
    try:
        with open(path, "rb") as file:
            info, summary = _first_metadata(file), _indexed(file)
        modified = path.stat().st_mtime
    except OSError as error:
        raise InputError(f"log '{path}' can't be read: {error.strerror}") from error
    if info is None or info.get("format") != FORMAT:
        read_log(path)  # raises with the reason
        raise InputError(f"log '{path}' has no metadata of Granite")
    try:
        read_info(info)
        # A virtual run has no start time; the file's date stands for it.
        start_s = int(info.get("start_ns", "0")) * 1e-9
        when = datetime.fromtimestamp(start_s or modified).astimezone()
        changes = [str(change) for change in json.loads(info.get("changes", "[]"))]
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise InputError(f"log '{path}' has damaged metadata: expected those it was written with") from error
    return Overview(path, info, summary, changes, when)


def final_error(summary: RunSummary | None) -> dict[str, float]:
    """The largest tracking error of the last seconds among the coordinates of each unit."""
    largest: dict[str, float] = {}
    for error in (summary.get("tracking_error", {}) if summary else {}).values():
        value: float | None = error["max_in_last_5_s"]  # in JSON a number that is not finite is null
        if value is not None:
            largest[error["unit"]] = max(value, largest.get(error["unit"], 0.0))
    return largest


def _indexed(file: IO[bytes]) -> RunSummary | None:
    """The summary of a whole file, which is in its last chunk; None where the file is cut or still being written."""
    try:
        index = read_index(file)
        content = read_chunk(file, index.chunks[-1].chunk_start_offset)
        wanted = index.channels[SUMMARY]
        return next((read_summary(message) for channel, message in messages(content) if channel == wanted), None)
    except (*BROKEN, OSError, IndexError):
        return None


def _first_metadata(file: IO[bytes]) -> dict[str, str] | None:
    """The metadata in front of the rows."""
    metadata_so_far: dict[str, str] = {}
    with contextlib.suppress(*BROKEN):
        for record in records(file):
            if record.opcode == Opcode.METADATA:
                metadata = Metadata.read(ReadDataStream(BytesIO(record.body)))
                if metadata.name == METADATA:
                    metadata_so_far = {**metadata.metadata, **metadata_so_far}
            if record.opcode == Opcode.CHUNK:
                break
    return metadata_so_far or None
