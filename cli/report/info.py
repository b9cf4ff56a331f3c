"""The head of a log, as a table and for scripts; and the result of its replay, in sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from granite.logs.log import Log
from granite.rt.replay import Replay
from granite.views.table import table

#: metadata that say nothing to a reader
_INTERNAL = ("changes", "sources", "start_ns", "testbed_sha256", "channels_sha256")


def info_table(path: Path, log: Log) -> Table:
    """The head of a log as a table."""
    return table(f"Log {path}", ("what", "value"), _facts(log), sentences=1)


def info_json(path: Path, log: Log) -> dict[str, Any]:
    """The same for scripts."""
    return {
        "log": str(path),
        **{key: value for key, value in log.info.items() if key not in _INTERNAL},
        "changes": json.loads(log.info.get("changes", "[]")),
        "sources": json.loads(log.info.get("sources", "{}")),
        "start_ns": int(log.info.get("start_ns", "0")),
        "rows": log.ticks,
        "events": len(log.events),
        "ended": log.summary.get("ended") if log.summary else None,
        "traceback": log.summary.get("traceback") if log.summary else None,
        "complete": log.complete,
        "damage": log.damage,
    }


def traceback_lines(log: Log) -> list[str]:
    """The traceback of a run that an exception ended; its last line is the exception."""
    lines = log.summary.get("traceback", "").splitlines() if log.summary else []
    return ["".join(c if c.isprintable() else "?" for c in line) for line in lines]


def _facts(log: Log) -> Iterator[tuple[str, str]]:
    shown = {key: value for key, value in log.info.items() if key not in _INTERNAL}
    for key in ("bed", "seed", "mode", "model", "granite", "commit", "host", "date"):
        if key in shown:
            yield key, shown.pop(key)
    if start := int(log.info.get("start_ns", "0")):
        yield "start", datetime.fromtimestamp(start * 1e-9).astimezone().isoformat(timespec="milliseconds")
    yield "changes", ", ".join(json.loads(log.info.get("changes", "[]"))) or "none"
    yield from ((f"own part {file}", digest) for file, digest in json.loads(log.info.get("sources", "{}")).items())
    yield from sorted(shown.items())
    yield "rows", f"{log.ticks}, {log.channels.width} values each"
    yield "events", str(len(log.events))
    yield "ended", f"{log.summary.get('ended')}: {log.summary.get('text')}" if log.summary else "not recorded"
    if log.summary and "fault" in log.summary:
        own = log.summary.get("fault_in")
        yield "fault", " ".join(f"{f'in {own}, ' if own else ''}{log.summary['fault']}".split())
    yield "complete", "yes" if log.complete else f"no: {log.damage}"


def replay_lines(result: Replay, complete: bool) -> Iterator[str]:
    """Result of a replay."""
    if result.first is not None:
        d = result.first
        yield (
            f"first difference at tick {d.tick} (t = {d.t:.6f} s): {d.topic} {d.key} was {d.logged!r}, "
            f"is now {d.replayed!r}"
        )
    elif result.ticks == 0:
        yield "nothing replayed: the first rows of the run are missing in the log"
    else:
        yield f"identical to the bit: {result.ticks} ticks, {result.values} values"
        if result.gap is not None:
            yield f"rows are missing in the log after tick {result.gap}: replayed up to there"
    for file in result.changed:
        yield f"the file {file} changed since the run: differences may come from that"
    if not complete:
        yield "the log is truncated: it was replayed up to its last complete row"
