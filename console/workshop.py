"""What the worker of the console does: logs, comparisons, plans, checks of testbeds, and tuning sessions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from granite.config.errors import InputError
from granite.config.loader import from_json, load
from granite.config.parts import BUILT_IN
from granite.console.open_log import OpenLog
from granite.console.shown_signals import column_of
from granite.console.table_scene import TableScene
from granite.logs.comparison import compare
from granite.logs.extremes import extremes_of, known
from granite.logs.indexed_log import opened_by_index
from granite.logs.json_records import finite
from granite.logs.log import Log, read_log
from granite.rt.operator.goal_requests import GoalRequests

#: logs that stay open, small pictures that are kept, and rows of a difference that are read
_OPEN, _SKETCHES, _DIFFERENCE = 4, 500, 40_000
#: a log without extremes up to this size is read for a picture [bytes]
_SKETCHED_BYTES = 20 * 2**20
#: points of a plan, and the longest run that is simulated for one [s]
_PLANNED, _LONGEST_PLAN_S = 300, 300.0
#: a path that goes no farther is none: the robot waits for goals [m]
_STAYS_M = 1e-3


class Workshop:
    """Made once in the process of the worker."""

    def __init__(self, progress: Callable[[float], None]) -> None:
        self._progress = progress
        self._logs: dict[str, tuple[tuple[int, int], OpenLog]] = {}
        self._goals: tuple[str, GoalRequests] | None = None
        self._sketches: dict[str, tuple[tuple[int, int], dict[str, Any]]] = {}

    def log(self, path: str, do: str, *arguments: Any) -> Any:
        """The answer of an open log."""
        return getattr(self._open(path), do)(*arguments)

    def sketch(self, path: str) -> dict[str, Any]:
        """A small picture of a log, which is kept; of one that would have to be read whole for it, once it is open."""
        stamp = _stamp(path)
        if path not in self._sketches or self._sketches[path][0] != stamp:
            opened = self._logs[path][1] if path in self._logs else None
            if opened is None and stamp[1] > _SKETCHED_BYTES and opened_by_index(path) is None:
                raise InputError(f"log '{path}' is long", expected="it to be opened first")
            self._sketches[path] = stamp, (opened or OpenLog(path)).sketch()
            while len(self._sketches) > _SKETCHES:
                del self._sketches[next(iter(self._sketches))]
        return self._sketches[path][1]

    def difference(self, path: str, other: str, names: list[str], t0: float, t1: float, pixels: int) -> bytes:
        """Signals of one log without those of another at the same times, laid out as by `OpenLog.signals`.

        Of a long time they are bounds, from the extremes of both.
        """
        first, second = self._open(path), self._open(other)
        t0, t1 = max(t0, first.span[0], second.span[0]), min(t1, first.span[1], second.span[1])
        if t1 < t0:
            return b""
        if (t1 - t0) / first.log.bed.loop.period_s > _DIFFERENCE:
            return _bounds(first, second, names, t0, t1, pixels)
        sides = []
        for opened in (first, second):
            channels, rows = opened.log.channels, opened.rows_in(t0, t1)
            columns = [column_of(channels, name) for name in names]
            sides.append((rows[:, channels.column("/timing", "scheduled_s")], known(channels, rows)[:, columns]))
        (t, values), (t_other, others) = sides
        at = np.clip(np.searchsorted(t_other, t + 1e-9, side="right") - 1, 0, len(t_other) - 1)
        values = values - others[at]
        factor = max(1, len(t) // (2 * pixels))
        low, high = (values, values) if factor == 1 else extremes_of(values, factor)
        return np.concatenate([t[::factor], low.T.ravel(), high.T.ravel()]).astype("<f8").tobytes()

    def compare(self, paths: list[str]) -> dict[str, Any]:
        """As `granite compare` says."""
        logs = {path: cast("Log", self._open(path).log) for path in paths}
        compared = {path: log if log.summary else read_log(path) for path, log in logs.items()}
        return cast("dict[str, Any]", finite(compare(compared)))

    def plan(self, bed_json: str) -> list[list[float]]:
        """Where a testbed without code of a user's own should go: the reference of the same run in memory."""
        from granite.rt.run_in_memory import simulate_in_memory

        bed = from_json(bed_json, "the run", looked_up=BUILT_IN)
        if bed.is_opaque or bed.controller is None or bed.loop.duration_s > _LONGEST_PLAN_S:
            return []
        log = simulate_in_memory(bed)
        rows = log.rows[:: max(1, len(log.rows) // _PLANNED)]
        path = TableScene(bed, log.channels, log.rows[0]).path(rows, reference=True)
        return path if path and np.ptp(path, axis=0).max() > _STAYS_M else []

    def preview(self, bed_json: str, motion: list[float], goal: dict[str, Any]) -> dict[str, Any]:
        """A goal from a motion (q, u, a) on, judged as the loop does: duration, poses on the way, or the refusal."""
        requests = self._goal_requests(bed_json)
        requests.note(motion)
        return requests.preview(goal)

    def _goal_requests(self, bed_json: str) -> GoalRequests:
        if self._goals is None or self._goals[0] != bed_json:
            self._goals = bed_json, GoalRequests(bed_json, ())
        return self._goals[1]

    def check(self, bed: str, changes: list[str], duration: str, seed: str) -> dict[str, Any]:
        """Whether a testbed with these changes can be run, as the loader says."""
        short = [f"loop.duration_s={float(duration)}"] if duration else []
        short += [f"seed={int(seed)}"] if seed else []
        try:
            testbed = load(bed, [*changes, *short])
        except InputError as error:  # without the name and all changes before it: the page shows it at the key
            error.file = ""
            raise
        return {
            "name": testbed.name,
            "title": testbed.title,
            "duration_s": testbed.loop.duration_s,
            "seed": testbed.seed,
        }

    def session(self, folder: str) -> dict[str, Any]:
        """A tuning session with all of its trials."""
        from granite.tuning.report.tables import session_json
        from granite.tuning.session import Session

        opened = Session.read(Path(folder))
        content = session_json(opened)
        parameters = [
            {"key": p.key, "lower": p.lower, "upper": p.upper, "log": p.scale == "log", "start": p.start}
            for p in opened.parameters
        ]
        logs = {str(n): str(opened.log_of(n)) for n in (r["number"] for r in content["trials"])}
        there = {number: log for number, log in logs.items() if Path(log).exists()}
        goals = [{"label": goal.label, "direction": goal.direction} for goal in opened.table.objectives]
        limits = [goal.label for goal in opened.table.constraints]
        return cast(
            "dict[str, Any]",
            finite({**content, "parameters": parameters, "logs": there, "goals": goals, "limits": limits}),
        )

    def _open(self, path: str) -> OpenLog:
        stamp = _stamp(path)
        if path not in self._logs or self._logs[path][0] != stamp:
            self._logs[path] = stamp, OpenLog(path, self._progress)
            while len(self._logs) > _OPEN:
                del self._logs[next(iter(self._logs))]
        return self._logs[path][1]


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError as error:
        raise InputError(f"log '{path}' can't be read: {error.strerror}") from None
    return status.st_mtime_ns, status.st_size


def _bounds(first: OpenLog, second: OpenLog, names: list[str], t0: float, t1: float, pixels: int) -> bytes:
    a, b = first.extremes, second.extremes
    factor = max(1, len(a.t) // (2 * pixels))
    a, b = a.coarser(factor), b.coarser(max(1, round(factor * a.block / factor / b.block)))
    inside = np.flatnonzero((a.t >= t0) & (a.t <= t1))
    at = np.clip(np.searchsorted(b.t, a.t[inside], side="right") - 1, 0, len(b.t) - 1)
    columns = [[column_of(opened.log.channels, name) for name in names] for opened in (first, second)]
    low = a.low[inside][:, columns[0]] - b.high[at][:, columns[1]]
    high = a.high[inside][:, columns[0]] - b.low[at][:, columns[1]]
    return np.concatenate([a.t[inside], low.T.ravel(), high.T.ravel()]).astype("<f8").tobytes()
