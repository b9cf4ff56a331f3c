"""A call to each of several devices, where none that raises or blocks keeps the others from theirs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping


def call_each(calls: Mapping[str, Callable[[], str]], limit_s: float | None = None) -> dict[str, str]:
    """Make every call.

    Parameters
    ----------
    calls
        By device; each returns why it failed, or nothing.
    limit_s
        How long to wait for a call that blocks: each then has a thread of its own, which is left behind when it does
        not end. None: one call after the other in this thread.

    Returns
    -------
    dict
        Why a call failed, by device; an exception and a call that did not return are failures.
    """
    answers: dict[str, str] = {}

    def answer(name: str) -> None:
        answers[name] = outcome_of(calls[name])

    if limit_s is None:
        for name in calls:
            answer(name)
    else:
        threads = [threading.Thread(target=answer, args=(name,), daemon=True) for name in calls]
        for thread in threads:
            thread.start()
        wait = limit_s
        for thread in threads:
            thread.join(wait)
            wait = 0.0 if thread.is_alive() else wait  # where one was waited for, the others have had as long
    blocked = f"it did not return in {limit_s} s"
    return {name: why for name in calls if (why := answers.get(name, blocked))}


def outcome_of(call: Callable[[], str]) -> str:
    """What the call returns, or the exception that it raises as text."""
    try:
        return call()
    except BaseException as error:  # also SystemExit: a broken device must not keep the next one running or open
        return f"{type(error).__name__}: {error}"
