"""One manoeuvre in the log of a run, measured like a whole run."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from granite.config.records import Array
from granite.config.run_modes import Reply, RequestKind
from granite.controllers.behaviours.resuming import SETTLING_S
from granite.logs.log import Log
from granite.logs.summary import Summary

#: part of the rest before the manoeuvre that must be seen: rows may be missing
_SEEN = 0.8


def last_manoeuvre(log: Log, seconds: float | None, since: float = 0.0) -> Log | None:
    """The rows from the last restart of the behaviour on, without the way back to its first pose and the rest there.

    Parameters
    ----------
    log
        Of the run, which may still go on.
    seconds
        How much of the manoeuvre; None: until the behaviour is done.
    since
        Time of the run before which no restart counts [s].

    Returns
    -------
    Log
        Of the manoeuvre alone, with a summary of its own; None where it has not ended yet.
    """
    rows, columns = log.rows, log.channels.columns
    rows = rows[rows[:, columns("/sample", "t")] >= since]
    asked = rows[:, columns("/operation", "request")]
    reply = rows[:, columns("/operation", "reply")]
    restarts = (asked == RequestKind.RESTART) & (reply == Reply.DONE)
    if not restarts.any():
        return None
    rows = rows[np.flatnonzero(restarts)[-1] :]
    begin = _after_rest(rows[:, columns("/sample", "t")], rows[:, columns("/reference", "u")])
    if begin is None:
        return None
    rows = rows[begin:]
    over = rows[:, columns("/reference", "done")] == 1.0
    if seconds is not None:
        t = rows[:, columns("/sample", "t")]
        over = t >= t[:1] + seconds
    if not over.any():
        return None
    rows = rows[: int(np.argmax(over))]
    summary = Summary(log.bed, log.channels)
    summary.update(rows)
    ended: Any = {**summary.result(), "ended": "completed", "text": "the manoeuvre reached its end"}
    return replace(log, rows=rows, events=(), summary=ended, complete=True, damage=None)


def _after_rest(t: Array, u: Array) -> int | None:
    """The first row after the first rest of a reference with rates u; None where there is none."""
    moves = np.any(u != 0.0, axis=1)
    bounds = [0, *(np.flatnonzero(np.diff(moves)) + 1), len(t)]
    for first, end in pairwise(bounds):
        if not moves[first] and t[end - 1] - t[first] >= _SEEN * SETTLING_S:
            return int(min(end, np.searchsorted(t, t[first] + SETTLING_S)))
    return None
