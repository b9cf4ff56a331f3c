"""The counters of links to real devices, on their way from the loop's process to the live view: once a second.

A ring of shared memory, into which a thread of ordinary priority puts lines of JSON; neither side waits for the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from granite.drivers.link_history import LinkNumbers
from granite.logs.json_records import finite
from granite.rt.process.ring import Ring

#: lines that may wait, and the length of one [words of 8 bytes]
_WAITING, _WIDTH = 64, 256


class LinkNews:
    """Both ends of it: the other process inherits its own by a fork."""

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
