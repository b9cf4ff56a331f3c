"""Gains of a law as a contract: names, units, bounds and meaning; they may change between two ticks.

A law that has some lists them by `Options.live_gains(bed)`, and takes all of them in that order by its method
`tune(values)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from granite.config.errors import InputError, one_of

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


def asked_gain(gains: Sequence[LiveGain], name: Any, value: Any) -> tuple[int, float]:
    """The number of a gain and its requested value.

    Raises
    ------
    InputError
        Where there is no such gain, or the value is no number within its bounds.
    """
    names = [gain.name for gain in gains]
    if name not in names:
        raise InputError("the law has no such gain", key="gain", value=name, expected=one_of(str(name), names))
    gain = gains[names.index(name)]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not gain.lower <= value <= gain.upper:  # also NaN
        raise InputError(key=gain.name, value=value, expected=f"{gain.lower:g} to {gain.upper:g} {gain.unit}")
    return names.index(name), float(value)
