"""Modes in which each request is possible, and the sentence for an operator who asked in another one."""

from __future__ import annotations

from granite.config.reasons import Reason
from granite.config.run_modes import Reply, RequestKind, RunMode

_STARTABLE = (RunMode.ARMED, RunMode.HOLDING, RunMode.FLOATING)
#: requests to the behaviour, which runs
GOALS = (RequestKind.GO, RequestKind.JOG, RequestKind.KNOT, RequestKind.FOLLOW, RequestKind.ACT)
#: requests that are not in it are possible in every mode
POSSIBLE_IN: dict[RequestKind, tuple[RunMode, ...]] = {
    RequestKind.ARM: (RunMode.DISARMED,),
    RequestKind.START: _STARTABLE,
    RequestKind.RESTART: _STARTABLE,
    RequestKind.HOLD: (RunMode.RUNNING, RunMode.ARMED, RunMode.FLOATING),
    RequestKind.FLOAT: (RunMode.RUNNING, RunMode.ARMED, RunMode.HOLDING),
    RequestKind.RESET: (RunMode.HOLDING, RunMode.FLOATING),
    **dict.fromkeys(GOALS, (RunMode.RUNNING,)),
}
#: the command that leads to such a mode
_FIRST = {
    (RequestKind.START, RunMode.DISARMED): "arm",
    (RequestKind.RESTART, RunMode.DISARMED): "arm",
    (RequestKind.RESTART, RunMode.RUNNING): "hold",
    (RequestKind.HOLD, RunMode.DISARMED): "arm",
    (RequestKind.FLOAT, RunMode.DISARMED): "arm",
    **{(ask, mode): "start" for ask in GOALS for mode in _STARTABLE},
    **{(ask, RunMode.DISARMED): "arm and start" for ask in GOALS},
}


def answer_text(ask: RequestKind, reply: Reply, mode: RunMode, cause: Reason) -> str:
    """The answer to a request in words: of one in the wrong mode, also the mode and what to do.

    Parameters
    ----------
    ask, reply
        The request, and the answer to it.
    mode, cause
        The mode of the run when it answered, and the cause of the mode.
    """
    if reply is not Reply.NOT_IN_THIS_MODE or ask not in POSSIBLE_IN:
        return reply.text
    because = f" because {cause.text}" if cause else ""
    return f"refused: the run is {mode.name.lower()}{because}, expected {_expected(ask, mode)}"


def _expected(ask: RequestKind, mode: RunMode) -> str:
    if mode in (RunMode.STOPPING, RunMode.STOPPED):
        return "a new run"
    if mode in POSSIBLE_IN[ask]:  # the mode would do, but a fault led to it
        return "reset first"
    if (ask, mode) in _FIRST:
        return f"{_FIRST[ask, mode]} first"
    *others, last = (possible.name.lower() for possible in POSSIBLE_IN[ask])
    return f"{', '.join(others)} or {last}" if others else last
