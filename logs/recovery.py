"""Recovery: a whole log of what can be read in a cut or damaged one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from granite.config.errors import InputError
from granite.config.records import Array
from granite.logs.json_records import finite
from granite.logs.log_content import LogContent, read_content
from granite.logs.mcap_file import FINGERPRINTS, TESTBED, McapFile
from granite.logs.run_summary import Ending
from granite.logs.summary import Summary
from granite.logs.unfinished import UnfinishedLog

#: of the unfinished file: that of a recording may be the damaged log itself
_MARK = ".recovering"
#: ending of a run whose own is lost
CUT: Ending = {"ended": "cut", "text": "the log ends before the run did"}


class RecoveryResult(NamedTuple):
    """Result of a recovery."""

    rows: int
    lost: int  #: rows missing between the recovered ones
    sentence: str  #: what was lost


def recover(damaged: Path, new: Path, overwrite: bool = False) -> RecoveryResult:
    """Write everything readable of a log into a new one; rows after a damaged part count the lost ones.

    Raises
    ------
    InputError
        Where nothing can be read, or the new log can't be written.
    """
    try:
        content = read_content(damaged, salvage=True)
    except OSError as error:
        raise InputError(f"log '{damaged}' can't be read: {error.strerror}") from error
    if not len(content.rows):
        raise InputError(f"log '{damaged}' has no complete tick: nothing to recover")
    try:
        unfinished = UnfinishedLog(new, overwrite, _MARK)
    except OSError as error:
        raise InputError(f"log '{new}' can't be written: {error.strerror}") from error
    with contextlib.ExitStack() as undo:
        undo.callback(unfinished.discard)
        try:
            recovered = _write(content, unfinished)
        except (RuntimeError, OSError, OverflowError) as error:  # times that no clock has
            raise InputError(f"log '{new}' can't be written: {error}") from error
        undo.pop_all()
    return recovered


def _write(content: LogContent, unfinished: UnfinishedLog) -> RecoveryResult:
    rows, summary = _CountedRows(content), Summary(content.bed, content.channels)
    own = {"format", "start_ns", *FINGERPRINTS.values()}
    metadata = {key: value for key, value in content.info.items() if key not in own}
    metadata["recovered"] = content.damage or "the log was whole"
    start_ns, bed = int(content.info.get("start_ns", "0")), content.attachments[TESTBED]
    file = McapFile(str(unfinished.path), content.channels, bed, metadata, start_ns)
    for block in rows.blocks():
        file.write(block)
        summary.update(block)
    for event in content.events:
        file.event(event["t_s"], event["tick"], event["level"], event["name"], event["text"])
    # How the run ended may be known; its metrics are those of the rows that are left.
    completed = {**CUT, **(content.summary or {}), **summary.result()}
    file.summary(json.dumps(finite(completed)))
    file.close()
    unfinished.finish()
    return RecoveryResult(len(content.rows), rows.lost, _sentence(content, rows))


class _CountedRows:
    """The rows of a damaged log; their count of lost rows includes those of the damaged parts."""

    def __init__(self, content: LogContent) -> None:
        self._content = content
        self.lost = 0  #: ticks that are missing before the last row
        self.last_tick = -1

    def blocks(self) -> Iterator[Array]:
        """All rows."""
        channels, gaps, first = self._content.channels, self._content.rows.gaps, 0
        tick, lost = channels.column("/timing", "tick"), channels.column("/timing", "lost")
        for block in self._content.rows.blocks():
            rows = block.copy()
            rows[:, lost] += self.lost
            for at in (gap - first for gap in gaps if first <= gap < first + len(rows)):
                before = rows[at - 1, tick] if at else self.last_tick
                missing = int(rows[at, tick] - before) - 1
                rows[at:, lost] += missing
                self.lost += missing
            first, self.last_tick = first + len(rows), int(rows[-1, tick])
            yield rows


def _sentence(content: LogContent, rows: _CountedRows) -> str:
    period, duration = content.bed.loop.period_s, content.bed.loop.duration_s
    lost = [f"{rows.lost} rows in damaged parts"] if rows.lost else []
    if content.summary is None:
        lost.append(f"all after t = {rows.last_tick * period:.6g} s of {duration:g} s")
    return f"{len(content.rows)} rows recovered; lost: {' and '.join(lost) or 'nothing'}"
