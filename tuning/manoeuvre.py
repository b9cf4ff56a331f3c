"""One manoeuvre in the log of a run, measured like a whole run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from granite.controllers.behaviours.repeating import SETTLING_S
from granite.rt.logs.log import Log
from granite.rt.logs.summary import Summary
from granite.rt.modes import Ask, Reply

#: rows of the rest before the manoeuvre that may be missing
_SLACK = 2


def last_manoeuvre(log: Log, seconds: float | None) -> Log | None:
    """The rows from the last restart of the behaviour on, without the way back to its first pose and the rest there.

    Parameters
    ----------
    log
        Of the run, which may still go on.
    seconds
        How much of the manoeuvre; None: until the behaviour is done.

    Returns
    -------
    Log
        Of the manoeuvre alone, with a summary of its own; None where it has not ended yet.
    """
    rows, place, period = log.rows, log.channels.place, log.bed.loop.period_s
    restarts = (rows[:, place("/operation", "request")] == Ask.RESTART) & (
        rows[:, place("/operation", "reply")] == Reply.DONE
    )
    if not restarts.any():
        return None
    rows = rows[np.flatnonzero(restarts)[-1] :]
    still = ~np.any(rows[:, place("/reference", "u")] != 0.0, axis=1)
    rest = round(SETTLING_S / period) - _SLACK
    at_rest = np.flatnonzero(np.convolve(still, np.ones(rest), "valid") > rest - 0.5)
    if not len(at_rest):
        return None
    rows = rows[at_rest[0] + rest :]
    over = rows[:, place("/reference", "done")] == 1.0
    if seconds is not None:
        t = rows[:, place("/sample", "t")]
        over = t >= t[:1] + seconds
    if not over.any():
        return None
    rows = rows[: int(np.argmax(over))]
    summary = Summary(log.bed, log.channels)
    summary.update(rows)
    ended: Any = {**summary.result(), "ended": "completed", "text": "the manoeuvre reached its end"}
    return replace(log, rows=rows, events=(), summary=ended, complete=True, damage=None)
