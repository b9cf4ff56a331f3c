"""The loop's side of the live view: its port, and the gains that its clients ask for."""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from granite.config.errors import InputError
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, Request, RunMode
from granite.config.testbed import Testbed
from granite.rt.live.link_news import LinkNews
from granite.rt.operator.request_ring import RequestRing

#: what a link to real devices counted so far, once a second
LINKS = "/links"
#: all rows since the last message, whole and one after the other: a client of every topic gets 30 messages a second
#: in place of thousands; in CDR, where the number of values and a gap come before them
ROWS, ROWS_HEAD = "/rows", Struct("<I4x")


class LiveView(NamedTuple):
    """What the recorder's process serves."""

    port: int
    links: LinkNews  #: what the links to real devices count
    gains: RequestRing | None = None  #: where clients may set gains: the way of their requests to the loop


class LiveRequests:
    """Gains that clients of the live view ask for, as a source of requests.

    The loop does not answer them: each request stands in the row of its tick with its reply, and the rows go to the
    recorder's process anyway.

    Raises
    ------
    InputError
        Where the testbed has no gain that may change.
    """

    def __init__(self, bed: Testbed) -> None:
        if not bed.controller or not bed.controller.law.live_gains(bed):
            raise InputError(
                "the law has no gain that may change in a run", key="live_gains", expected="no live gains with it"
            )
        self.ring = RequestRing.create()

    def take(self, t: float, mode: RunMode, cause: Reason) -> Request | None:
        """The next request, if one waits."""
        return self.ring.take()

    def answer(self, request: Request, reply: Reply, mode: RunMode, cause: Reason) -> None:
        """The row says it."""

    def name(self, sender: int) -> str:
        """Nobody: a client can't stop a run."""
        return ""
