"""The loop's side of the live view: its port, news of the links, and the gains that its clients ask for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from struct import Struct
from typing import Any, NamedTuple

from granite.config.errors import InputError
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, Request, RunMode
from granite.config.testbed import Testbed
from granite.drivers.link_history import LinkNumbers
from granite.logs.json_records import finite
from granite.rt.operator.request_ring import RequestRing
from granite.rt.process.ring import Ring

#: lines that may wait, and the length of one [words of 8 bytes]
_WAITING, _WIDTH = 64, 256
#: what a link to real devices counted so far, once a second
LINKS = "/links"
#: all rows since the last message, whole and one after the other: a client of every topic gets 30 messages a second
#: in place of thousands; in CDR, where the number of values and a gap come before them
ROWS, ROWS_HEAD = "/rows", Struct("<I4x")


class LinkNews:
    """The counters of links to real devices, on their way from the loop's process to the live view: once a second.

    A ring of shared memory, into which a thread of ordinary priority puts lines of JSON; neither side waits for the
    other. Both ends of it: the other process inherits its own by a fork.
    """

    def __init__(self) -> None:
        self._ring = Ring.create(_WAITING, _WIDTH)
        self._told: dict[str, float] = {}

    @property
    def descriptor(self) -> int:
        """Of the shared memory."""
        return self._ring.descriptor

    def put(self, links: Mapping[str, tuple[float, LinkNumbers]]) -> None:
        """Tell what is new; a line that finds no room, or is too long for one, is left out."""
        for name, (t, numbers) in links.items():
            line = json.dumps(finite({"link": name, "t_s": t, **numbers})).encode()
            if self._told.get(name) != t and len(line) <= 8 * _WIDTH:
                self._told[name] = t
                self._ring.put(line.ljust(8 * _WIDTH))

    def take(self) -> list[dict[str, Any]]:
        """What was told since."""
        return [json.loads(row.tobytes()) for row in self._ring.take()]

    def close(self) -> None:
        """Release the memory."""
        self._ring.close()


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
