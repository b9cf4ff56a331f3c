"""Gains of a law as a contract: names, units, bounds and meaning; they may change between two ticks.

A law that has some lists them by `Options.live_gains(bed)`, and takes all of them in that order by its method
`tune(values)`.
"""

from __future__ import annotations

from typing import NamedTuple

#: a gain may be changed down to and up to this multiple of the testbed's value
LEAST, MOST = 0.25, 4.0


class LiveGain(NamedTuple):
    """A gain that may be changed during a run."""

    name: str
    unit: str
    value: float  #: of the testbed
    lower: float
    upper: float
    meaning: str


def around(name: str, unit: str, value: float, meaning: str) -> LiveGain:
    """A gain with the usual bounds: a quarter to four times the testbed's value; zero stays zero."""
    return LiveGain(name, unit, value, LEAST * value, MOST * value, meaning)
