"""Openings of a valve under single pulses: dead time, linear rise and fall, minimum pulse; in closed form.

A pulse commanded at s for a time T opens the valve from s + delay on at the slope 1/rise, and closes it from
s + delay + max(T, minimum) on. It is the response of `mrds/valve_response.py` where pulses do not overlap.
"""

from __future__ import annotations

import numpy as np

from granite.config.records import Array


def pulses_of(t: Array, commanded: Array) -> tuple[Array, Array]:
    """Start and length [s] of every pulse in the commands at times t; the last one has ended."""
    edges = np.diff(commanded, prepend=0.0)
    starts, ends = t[edges > 0], t[edges < 0]
    return starts, ends - starts


def mean_openings(t: Array, window: float, starts: Array, lengths: Array, timing: Array) -> Array:
    """Mean opening over the time `window` before each of the times t (n), of pulses with this timing.

    Parameters
    ----------
    t, window
        Times and the averaging time [s].
    starts, lengths
        Of the commanded pulses [s].
    timing
        Delay, rise and minimum pulse [s].
    """
    delay, rise, minimum = timing
    rise = max(rise, 1e-9)
    open_s = np.maximum(lengths, minimum)
    most = np.minimum(1.0, open_s / rise)  # a pulse shorter than the rise does not open the valve fully
    since = t[:, None] - starts - delay

    def area(after: Array) -> Array:
        """Under the opening from the start of the rise to this time after it."""
        return _ramp_area(after, rise, most) - _ramp_area(after - open_s, rise, most)

    return np.asarray((area(since) - area(since - window)).sum(axis=1) / window)


def _ramp_area(s: Array, rise: float, most: Array) -> Array:
    """Integral of a ramp of slope 1/rise from zero up to `most`."""
    rising = np.clip(s, 0.0, most * rise)
    return np.asarray(rising**2 / (2 * rise) + most * np.maximum(s - most * rise, 0.0))
