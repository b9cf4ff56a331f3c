"""A sensor whose messages come from a server of the test; time is that of the test."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from granite.config.records import Frame


class WatchedSensor:
    """The sensor with what it has counted."""

    device: Any

    def seen(self) -> int:
        """How many messages it has taken in."""
        counts = vars(self.device.counts)
        return sum(counts.get(key, 0) for key in ("received", "malformed", "other_body", "repeated"))

    def after(self, t: float, send: Callable[[], object], n: int = 1) -> Frame:
        """Its frame at tick t, after it has taken in n more messages."""
        before = self.seen()
        send()
        self.until(t, lambda: self.seen() >= before + n)
        frame: Frame = self.device.read(t)
        return frame

    def until(self, t: float, happened: Callable[[], bool]) -> None:
        """Read at the same tick until something has happened."""
        end = time.monotonic() + 30
        while not happened():
            assert time.monotonic() < end, "nothing arrived"
            self.device.read(t)
