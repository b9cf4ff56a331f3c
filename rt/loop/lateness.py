"""The limit of lateness: after a pause of the process nothing old is acted upon."""

from __future__ import annotations

from granite.config.errors import GraniteError


class TooLateError(GraniteError):
    """A tick was too late for its command, or held its command for too long."""


def refuse_late(late_s: float, limit_s: float) -> None:
    """Raise `TooLateError` where a tick is later than the limit."""
    if late_s > limit_s:
        raise TooLateError(f"{late_s:.3g} s after its tick was due, limit {limit_s:g} s")
