"""Several sources of requests as one."""

from __future__ import annotations

from granite.config.reasons import Reason
from granite.config.run_modes import Reply, Request, RunMode
from granite.rt.supervisor.supervisor import RequestSource


class RequestSources:
    """Takes from the first source before the others: an operator's stop never waits for a client of the live view."""

    def __init__(self, *sources: RequestSource) -> None:
        self._sources = sources

    def take(self, t: float, mode: RunMode, cause: Reason) -> Request | None:
        """The next request, if one waits."""
        for source in self._sources:
            if request := source.take(t, mode, cause):
                return request
        return None

    def answer(self, request: Request, reply: Reply, mode: RunMode, cause: Reason) -> None:
        """Each source knows its own."""
        for source in self._sources:
            source.answer(request, reply, mode, cause)

    def name(self, sender: int) -> str:
        """Who sent it, in words."""
        return next((name for source in self._sources if (name := source.name(sender))), "")
